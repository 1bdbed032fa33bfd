"""A run made again with its graph: what autograd needs, with the numbers of the run that is asked about."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from viz_model.model import sites
from viz_model.model.tap import NO_TAP, Scoped, Tap
from viz_model.model.transformer import Transformer
from viz_model.runs import edits

if TYPE_CHECKING:
    from viz_model.runs.trace import Trace


def needs_weights(trace: "Trace", name: str) -> None:
    """Raises ValueError for a run that was observed, of whose model no weights are known."""
    if trace.config.observed:
        raise ValueError(f"{name}: this run was observed, not recomputed: the weights of its model are not known here")


class Kept:
    """A tap that keeps every value in the graph, each by itself: two names of one tensor have gradients of their own.

    The numbers are those of the run that is asked about: here attention is not fused, and rounds otherwise.

    Args:
        begins: whether the graph begins at the values that depend on no weight with a gradient.
    """

    def __init__(self, trace: "Trace", *, begins: bool = False) -> None:
        self.trace, self.begins, self.values = trace, begins, dict[str, Tensor]()

    def __call__(self, name: str, value: Tensor) -> Tensor:
        value = edits.apply(self.trace.changes, name, value, self.values)
        if self.begins and not value.requires_grad and value.is_floating_point():
            value = value.detach().requires_grad_()
        own, known = value.view_as(value), self.trace.values.get(name)
        if known is not None and value.requires_grad:
            own = own + (known.clone() - value.detach()).nan_to_num()  # −∞ is −∞
        self.values[name] = own
        return own

    def at(self, prefix: str) -> Scoped:
        return Scoped(self, prefix)

    def changes(self, name: str) -> bool:
        """The fused kernel would not form a pattern."""
        return True


def run_again(model: Transformer, trace: "Trace", tap: Tap = NO_TAP) -> Tensor:
    """The vectors that leave the model, [1, T, D]."""
    pixels, segments = trace.picture, trace.segments
    return model.vectors(
        torch.tensor([trace.ids]),
        None if trace.target_ids is None else torch.tensor([trace.target_ids]),
        pixels=None if pixels is None else pixels.clone()[None],
        segments=None if segments is None else torch.tensor([segments]),
        visible={side: mask.clone() for side, mask in trace.visible.items()},
        tap=tap,
    )


class Graph(Mapping[str, Tensor]):
    """The values of a run as autograd has them: all that are recorded, attention's patterns, and what the head says."""

    def __init__(self, trace: "Trace") -> None:
        needs_weights(trace, "grad")
        self._trace, kept = trace, Kept(trace, begins=True)
        leaving = run_again(trace.model, trace, kept)
        head = trace.model.head
        if trace.config.classes:
            kept.values["class.logits"] = head(leaving)
            kept.values["class.probs"] = kept.values["class.logits"].softmax(-1)
        elif trace.config.has_logits:
            kept.values["logits"] = head(leaving, kept)
            kept.values["probs"] = kept.values["logits"].softmax(-1)
        else:
            head.before(leaving, kept)
        self.whole = kept.values

    def __getitem__(self, name: str) -> Tensor:
        return self.of(name)[0]

    def of(self, name: str) -> Tensor:
        """A value with its batch axis, as it stands in the graph."""
        full = self._trace.full_name(name)
        sites.find(full, self._trace.config)
        if full not in self.whole:
            raise KeyError(
                f"grad: {name!r} is worked out of other values when it is read, and the run passes it nowhere"
            )
        return self.whole[full]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._trace.sites if self._trace.full_name(name) in self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def grad(trace: "Trace", of: Callable[[Mapping[str, Tensor]], Tensor], names: Sequence[str]) -> dict[str, Tensor]:
    """The gradient of a number by values of a run; what is taken and raised is as of :meth:`Trace.grad`."""
    with torch.inference_mode(False), torch.enable_grad():
        graph = Graph(trace)
        asked = [graph.of(name) for name in names]
        number = of(graph)
        if not isinstance(number, Tensor) or number.numel() != 1:
            shape = list(number.shape) if isinstance(number, Tensor) else type(number).__name__
            raise ValueError(f"of: expected a tensor of one number, got {shape}")
        if not number.requires_grad:
            raise ValueError("of: the number does not depend on the values of the run that it is given")
        if wrong := [name for name, value in zip(names, asked, strict=True) if not value.requires_grad]:
            raise ValueError(f"grad: {wrong[0]!r} holds whole numbers, and nothing has a gradient by them")
        found = torch.autograd.grad(number.reshape(()), asked, allow_unused=True)
    made = (torch.zeros_like(value) if one is None else one for one, value in zip(found, asked, strict=True))
    return {name: one[0].detach() for name, one in zip(names, made, strict=True)}
