"""How strongly the loss of a sentence pulls at the residual stream, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.runs import edits
from viz_model.runs.edits import ValueEdit
from viz_model.runs.trace import Trace

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

    def at(self, prefix: str) -> _StreamTap:
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
