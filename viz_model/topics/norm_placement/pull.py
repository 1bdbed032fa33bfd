"""How strongly the loss of a sentence pulls at the residual stream, layer by layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.claims import Claim, Verdict
from viz_model.drawing import by_depth, chart
from viz_model.drawing.scene import Items, Panel, Scene, Texts
from viz_model.island.look import Look
from viz_model.island.page import Chooser
from viz_model.island.prose import Line
from viz_model.runs import edits
from viz_model.runs.edits import ValueEdit
from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement.places import COLORS, HEIGHT, NAMES, Finding, ratio, runs

Loss = Literal["next", "target", "itself"]
"""What is predicted: each next token; each next token of the target; or each token at its own place."""


class StreamGradients(NamedTuple):
    """∂loss/∂r for the residual stream r of one stack, at each of S sites, [T, D] each, from the embedding upwards.

    ``loss`` is the mean cross-entropy in nats over ``n_predicted`` tokens. The last position of a
    decoder predicts nothing that is known.
    """

    kind: Loss
    loss: float
    n_predicted: int
    sites: tuple[str, ...]
    gradients: tuple[Tensor, ...]

    @property
    def norms(self) -> tuple[float, ...]:
        """‖∂loss/∂r‖, one number a site, over all positions and dimensions."""
        return tuple(gradient.norm().item() for gradient in self.gradients)


NoLoss = Literal["no_head", "one_token", "all_masked"]
_WHY: dict[NoLoss, str] = {
    "no_head": "a model without a head predicts nothing, so it has no loss",
    "one_token": "the gradient of the loss needs at least 2 tokens",
    "all_masked": "the loss needs at least 1 token that is not masked",
}


def no_loss(trace: Trace) -> NoLoss | None:
    """Why a run has no loss, if it has none."""
    if not trace.config.has_logits:
        return "no_head"
    if trace.config.kind == "encoder":
        return None if any(id != trace.tokenizer.mask_id for id in trace.ids) else "all_masked"
    ids = trace.target_ids or () if trace.config.kind == "encoder_decoder" else trace.ids
    return None if len(ids) > 1 else "one_token"


def predicted(trace: Trace) -> tuple[Loss, list[int], list[int]]:
    """What a run's loss is about: its kind, the positions that predict, and the ids they should predict.

    A decoder predicts the next token, of its target where it has an encoder. An encoder predicts
    every token at its own place, from a text in which that token stands to be read; only the places
    that hold a mask are left out, since what belongs there is not known.

    Raises:
        ValueError: the model has no logits, or nothing is known that it could predict.
    """
    if why := no_loss(trace):
        raise ValueError(_WHY[why])
    if trace.config.kind == "encoder":
        known = [n for n, id in enumerate(trace.ids) if id != trace.tokenizer.mask_id]
        return "itself", known, [trace.ids[n] for n in known]
    if trace.config.kind == "encoder_decoder":
        ids = trace.target_ids or ()
        return "target", list(range(len(ids) - 1)), list(ids[1:])
    return "next", list(range(len(trace.ids) - 1)), list(trace.ids[1:])


def work(trace: Trace) -> int:
    """Parameters times tokens: what running a trace again and backwards costs, up to a factor."""
    tokens = len(trace.ids) + len(trace.target_ids or ())
    return tokens * sum(parameter.numel() for parameter in trace.model.parameters())


@dataclass
class _StreamTap:
    """Starts the graph at the output of a stack's embedding and keeps the stream that leaves every block.

    ``stack`` is what the names of that stack begin with; ``planned`` changes are made as they were in the run.
    """

    stack: str
    planned: Mapping[str, Sequence[ValueEdit]]
    stream: dict[str, Tensor] = field(default_factory=dict)
    seen: dict[str, Tensor] = field(default_factory=dict)
    prefix: str = ""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        full = self.prefix + name
        value = self.seen[full] = edits.apply(self.planned, full, value, self.seen)
        if full.startswith(self.stack):
            site = full.removeprefix(self.stack)
            if site == "embed.out":
                value = value.detach().requires_grad_()
            if site == "embed.out" or site.endswith(".resid.out"):
                self.stream[site] = value
        return value

    def at(self, prefix: str) -> "_StreamTap":
        return _StreamTap(self.stack, self.planned, self.stream, self.seen, f"{self.prefix}{prefix}.")

    def changes(self, name: str) -> bool:
        return self.prefix + name in self.planned


def stream_gradients(trace: Trace) -> StreamGradients:
    """Run the trace's ids again with gradients, and differentiate the loss by the stream of the trace's stack.

    The run's masks and edits hold in it too. The weights ask for no gradient and get none; nothing
    is left on the model, and the gradient mode is the calling thread's own.

    Raises:
        ValueError: there is no loss (:func:`predicted`).
    """
    kind, positions, wanted = predicted(trace)
    with torch.inference_mode(False), torch.enable_grad():
        tap = _StreamTap(trace.prefix, trace.changes)
        target = None if trace.target_ids is None else torch.tensor([trace.target_ids])
        segments = None if trace.segments is None else torch.tensor([trace.segments])
        logits = trace.model(torch.tensor([trace.ids]), target, segments=segments, visible=trace.visible, tap=tap)
        loss = F.cross_entropy(logits[0, positions], torch.tensor(wanted))
        gradients = torch.autograd.grad(loss, list(tap.stream.values()))
    return StreamGradients(
        kind, loss.item(), len(wanted), tuple(tap.stream), tuple(gradient[0] for gradient in gradients)
    )


TENFOLD = 10.0
"""A gradient that changes more than that on its way down shrinks or grows; within it, only its ends are told."""
MOST_WORK = 4_000_000_000
"""Parameters times tokens that are run backwards unasked: about a second."""
FEW = 9
"""Bars of a model up to which each bears its number."""


class Ends(NamedTuple):
    """The gradient at the top of a stack, where it begins, and what arrives at the embedding."""

    top: float
    bottom: float


GRADIENT: Verdict[Ends] = Verdict(
    "norm_placement.gradient",
    Claim("shrinks", lambda pull: pull.bottom * TENFOLD < pull.top),
    Claim("grows", lambda pull: pull.bottom > TENFOLD * pull.top > 0),
)


def facts(found: StreamGradients) -> dict[str, str]:
    """For prose: the gradient at both ends, and what reaches the embedding as a multiple of what began at the top."""
    top, bottom = found.norms[-1], found.norms[0]
    change = ratio(bottom / (top or 1.0))
    return {"top": f"{top:.3f}", "bottom": f"{bottom:.3f}", "change": change, "loss": f"{found.loss:.2f}"}


def _is_large(look: Look) -> bool:
    return no_loss(look.trace) is None and work(look.trace) > MOST_WORK


def every(look: Look) -> dict[str, StreamGradients]:
    """By the place of the norm; nothing without a loss, or of a large model until it is asked for."""
    if no_loss(look.trace) or (_is_large(look) and look.options.get("gradient") != "1"):
        return {}
    return look.once(lambda look: {at: stream_gradients(run) for at, run in runs(look).items()}, "gradients")


def why_not(look: Look) -> list[Line]:
    """Why there is no loss, or that it is measured on being asked."""
    if why := no_loss(look.trace):
        return [Line(look.words(f"gradient_{why}"), "notice")]
    return [Line(look.words("gradient_ask"), "part")] if _is_large(look) and not every(look) else []


def ask(look: Look) -> Chooser | None:
    if not _is_large(look):
        return None
    options = {"0": "–", "1": look.words("gradient_run")}
    return Chooser("gradient", options, "", look.words("gradient_help"), asks=True)


def tell(look: Look) -> Finding:
    found = every(look)
    each = {at: facts(pull) for at, pull in found.items()}
    some = next(iter(found.values()))
    start = look.code_name(0) if some.kind == "target" else ""
    what = look.words(f"loss_{some.kind}", n=some.n_predicted, start=start)
    lines = []
    for at, pull in found.items():
        says = GRADIENT.says(look.t.language, Ends(pull.norms[-1], pull.norms[0]), **each[at])
        lines.append(look.words("gradients_line", place=NAMES[at], says=says, **each[at]))
    return Finding("gradients", each, {"what": what}, lines, ("embed.out", "resid.out"))


def draw(look: Look) -> Scene:
    """Bars from the embedding to the last block; the gradient travels from right to left."""
    found = every(look)
    sites = next(iter(found.values())).sites
    names = [by_depth.short(site) for site in sites]
    n, n_places = len(sites), len(found)
    values = [np.array(pull.norms) for pull in found.values()]
    y = chart.axis(*values, title=look.words("gradient"), room=0.12)
    on, marks = chart.plot(chart.places(n), y, HEIGHT, x_names=names)
    wide = 0.75 / n_places
    for k, (at, norms) in enumerate(zip(found, values, strict=True)):
        left = np.arange(n) - 0.375 + k * wide
        told = [f"{NAMES[at]} · {site}\n{norm:.4f}" for site, norm in zip(sites, norms, strict=True)]
        place: dict[str, Any] = {"x": on.at_x(left), "y": on.at_y(norms), "height": on.tall(norms)}
        across = on.wide(0.95 * wide / n, n)
        marks.append(Items(id=at, **place, width=across, fill=COLORS[at], labels=told, name=NAMES[at]))
        if n <= FEW:
            above: Any = on.at_y(norms)._replace(start=on.bottom - 8, end=on.top - 8)
            x: Any = on.at_x(left + wide / 2)
            marks.append(Texts(id=f"{at}.numbers", texts=[f"{norm:.2f}" for norm in norms], x=x, y=above, size=12))
    keys = [chart.line_key(NAMES[at], COLORS[at], "square") for at in found] if n_places > 1 else []
    panel = Panel(id="gradients", marks=marks, height=HEIGHT)
    title = look.words("gradients_alt")
    return look.drawn(Scene(id="norm_placement.gradients", panels=[panel], title=title, keys=keys), own=False)
