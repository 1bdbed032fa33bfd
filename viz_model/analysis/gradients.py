"""How strongly the loss of a sentence pulls at the residual stream, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.trace import Trace


class StreamGradients(NamedTuple):
    """∂loss/∂r for the residual stream r at each of S sites, [T, D] each, from the embedding upwards.

    ``loss`` is the mean cross-entropy, in nats, of the sentence's own next tokens. The last
    position predicts nothing that is known, so its gradient is 0 everywhere.
    """

    loss: float
    sites: tuple[str, ...]
    gradients: tuple[Tensor, ...]

    @property
    def norms(self) -> tuple[float, ...]:
        """‖∂loss/∂r‖, one number a site, over all positions and dimensions."""
        return tuple(gradient.norm().item() for gradient in self.gradients)


@dataclass
class _StreamTap:
    """Starts the graph at the embedding's output and keeps the stream that leaves every block."""

    stream: dict[str, Tensor] = field(default_factory=dict)
    prefix: str = ""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        site = self.prefix + name
        if site == "embed.out":
            value = value.detach().requires_grad_()
        if site == "embed.out" or site.endswith(".resid.out"):
            self.stream[site] = value
        return value

    def at(self, prefix: str) -> _StreamTap:
        return _StreamTap(self.stream, f"{self.prefix}{prefix}.")


def stream_gradients(trace: Trace) -> StreamGradients:
    """Run the trace's ids again with gradients, and differentiate the loss by the stream.

    The weights ask for no gradient and get none; nothing is left on the model, and the gradient
    mode is the calling thread's own.

    Raises:
        ValueError: a single token has no next token, so there is no loss.
    """
    if len(trace) < 2:
        raise ValueError("the gradient of the loss needs at least 2 tokens")
    with torch.inference_mode(False), torch.enable_grad():
        ids = torch.tensor([trace.ids])
        tap = _StreamTap()
        logits = trace.model(ids, tap=tap)
        loss = F.cross_entropy(logits[0, :-1], ids[0, 1:])
        gradients = torch.autograd.grad(loss, list(tap.stream.values()))
    return StreamGradients(loss.item(), tuple(tap.stream), tuple(gradient[0] for gradient in gradients))
