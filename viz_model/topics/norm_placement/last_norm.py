"""What of a stack's last norm is length, and what is direction: its parts one by one, on the vectors of a run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import percent, root, written
from viz_model.drawing.scene import Scene, Texts
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.lens import predicts
from viz_model.measures.passage import sets_length
from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement.places import COLORS, NAMES, Finding, runs
from viz_model.topics.norm_placement.readings import norm_names, norm_of

VARIANTS = ("none", "scale", "gain", "both")
"""Without the norm; divided by σ alone; all that the norm does (centered, times γ, plus β) but divide; as it is."""
_ROWS = 16  # rows of logits at a time, of every variant


class LastNorm(NamedTuple):
    """The last norm of a stack under each of :data:`VARIANTS`.

    Attributes:
        name: of the norm: ``final.norm`` under Pre-LN, the last of the last block under Post-LN.
        lengths: [4, T] of the vectors.
        top, p: [4, T] ids of the first choices, and their probabilities; None where no logits are made of them.
        level: √D, the length that division by σ gives.
        gain: the root mean square of γ.
        keeps_order: whether dividing a vector keeps the order of its logits: of a head that is one matrix, without
            a bias, it divides them all alike.
    """

    name: str
    lengths: np.ndarray
    top: np.ndarray | None
    p: np.ndarray | None
    level: float
    gain: float
    keeps_order: bool

    def changed(self, variant: str) -> int:
        """At how many positions the first choice is another than without the norm."""
        assert self.top is not None
        return int((self.top[VARIANTS.index(variant)] != self.top[0]).sum())


@torch.inference_mode()
def beside_division(trace: Trace) -> tuple[str, ...]:
    """What a stack's norms do but divide: "gain", "shift" where β is added, "centering" where the mean is taken off.

    Raises:
        KeyError: the model's norm measures no length.
    """
    name = norm_names(trace)[-1]
    held = norm_of(trace, name).held(trace.norm_input(name))
    return "gain", *(["shift"] if held.shift is not None else []), *(["centering"] if held.centered else [])


@torch.inference_mode()
def last_norm(trace: Trace) -> LastNorm:
    """Of the stack that the trace is seen from.

    Raises:
        KeyError: the model's norm measures no length.
    """
    name = norm_names(trace)[-1]
    each = variants(trace, name)
    found = [_choices(trace, vectors) for vectors in each] if predicts(trace) else []
    gain = trace.model.get_parameter(f"{trace.stack.side}.{_module(name)}.weight")
    return LastNorm(
        name=name,
        lengths=torch.stack([vectors.norm(dim=-1) for vectors in each]).numpy(),
        top=np.stack([top for top, _ in found]) if found else None,
        p=np.stack([p for _, p in found]) if found else None,
        level=trace.config.d_model**0.5,
        gain=gain.square().mean().sqrt().item(),
        keeps_order=trace.model.head.is_direct and trace.model.unembedding.bias is None,
    )


def variants(trace: Trace, name: str) -> list[Tensor]:
    """What a norm reads, [T, D], and what each of :data:`VARIANTS` makes of it."""
    x, scale, held = trace.norm_input(name), trace[f"{name}.scale"], norm_of(trace, name).held(trace.norm_input(name))
    centered = x - x.mean(-1, keepdim=True) if held.centered else x
    gained = held.factor * scale * centered
    return [x, x / scale, gained if held.shift is None else gained + held.shift, trace[f"{name}.out"]]


def _choices(trace: Trace, vectors: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The first choice of the model's head for each vector, and its probability: two of [T]."""
    best = [trace.model.head(rows[None])[0].softmax(-1).max(-1) for rows in vectors.split(_ROWS)]
    return tuple(torch.cat(part).numpy() for part in ([b.indices for b in best], [b.values for b in best]))  # type: ignore[return-value]


def _module(name: str) -> str:
    return name.replace(".norm", "_norm")


class Stretch(NamedTuple):
    """Median lengths around a last norm: what it reads, what it hands on, and √D, which division by σ gives."""

    before: float
    after: float
    level: float

    @classmethod
    def of(cls, norm: LastNorm) -> "Stretch":
        """Medians over the positions."""
        return cls(float(np.median(norm.lengths[0])), float(np.median(norm.lengths[-1])), norm.level)


LAST_GAIN: Verdict[Stretch] = Verdict(
    "norm_placement.last_gain", Claim("stretches", lambda it: it.after > it.before and it.after > it.level)
)
RESCALED: Verdict[int] = Verdict("norm_placement.rescaled", Claim("same", lambda n_changed: n_changed == 0))


def facts(found: LastNorm) -> dict[str, str]:
    """For prose: medians over the positions, and at how many the first choice is another than without the norm."""
    said = {"is_level": root(found.level**2, 1)[0], "gain": f"{found.gain:.2f}"}
    said["positions"] = str(found.lengths.shape[1])
    for n, variant in enumerate(VARIANTS):
        said[f"{variant}_length"] = f"{np.median(found.lengths[n]):.1f}"
        if found.p is not None:
            said[f"{variant}_p"] = percent(float(np.median(found.p[n])))
            said[f"{variant}_changed"] = str(found.changed(variant))
    return said


def beside(look: Look) -> dict[str, str]:
    """What the norms do but divide, in words: all of it, and what of it is learned."""
    parts = beside_division(look.trace)
    learned = [part for part in parts if part != "centering"]
    return {
        "beside": look.words(f"beside_{'_'.join(parts)}"),
        "learned": look.words(f"beside_{'_'.join(learned)}"),
        "centered": look.words("centered") if "centering" in parts else "",
    }


def every(look: Look) -> dict[str, LastNorm]:
    """By the place of the norm; nothing where norms bring no vector to a length."""
    if not sets_length(look.trace):
        return {}
    return look.once(lambda look: {at: last_norm(run) for at, run in runs(look).items()}, "last norm")


def tell(look: Look) -> Finding:
    """What of the last norm is length, and what is direction."""
    found, language, said_of_all = every(look), look.t.language, beside(look)
    each, lines = {at: facts(one) for at, one in found.items()}, []
    for at, one in found.items():
        said: dict[str, str] = {**each[at], **said_of_all, "place": NAMES[at]}
        said["stretch"] = LAST_GAIN.says(language, Stretch.of(one), **said)
        if one.top is not None:
            said["rescaled"] = RESCALED.says(language, one.changed("scale"), **said)
        key = f"last_norm_{'length' if one.top is None else 'choices'}_each"
        lines.append(look.t.prose(f"{look.topic}.{key}", **said))
    some = next(iter(found.values()))
    return Finding("last_norm_length" if some.p is None else "last_norm", facts=said_of_all, lines=lines)


def draw(look: Look) -> Scene:
    """A bar a variant and model: the largest probability with its token, or the vector's length."""
    found = every(look)
    token, some, series, texts = look.token, next(iter(found.values())), [], []
    for at, one in found.items():
        values = (one.lengths if one.p is None else one.p)[:, token]
        series.append(chart.Bars(NAMES[at], values, COLORS[at], "{{name}}\n{{value}}", "3"))
        texts.append([_written(look, one, n, float(value)) for n, value in enumerate(values)])
    kind, axis = ("last_norm_length", "length") if some.p is None else ("last_norm", "probability")
    names = [look.words(f"variant_{variant}", **beside(look)) for variant in VARIANTS]
    scale = chart.axis(*(one.values for one in series), title=look.words(axis), room=0.35)
    scene = chart.bars(f"norm_placement.{kind}", look.words(f"{kind}_alt"), names, series, scale, row=34)
    (panel,) = scene.panels
    marks: list[Any] = [
        replace(mark, texts=texts[int(mark.id.removeprefix("values."))]) if isinstance(mark, Texts) else mark
        for mark in panel.marks
    ]
    return look.drawn(look.only_here(replace(scene, panels=[replace(panel, marks=marks)]), token=True), own=False)


def _written(look: Look, found: LastNorm, n: int, value: float) -> str:
    if found.top is None:
        return written(value, "1")
    return f"{look.trace.tokenizer.token(int(found.top[n, look.token])).label} {percent(value)}"


def end(look: Look) -> Sequence[Line]:
    """Whether a division can change a first choice; or why there is nothing to take apart."""
    if not (found := every(look)):
        return [Line(look.words("last_norm_none"), "notice")]
    some = next(iter(found.values()))
    if some.p is None:
        return []
    return [look.text("last_norm_proof" if some.keeps_order else "last_norm_no_proof", **beside(look))]
