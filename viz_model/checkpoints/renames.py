"""What the tensors of somebody else's checkpoint are here: one row for each name, with what was done to its numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from torch import Tensor

from viz_model.config import ModelConfig


@dataclass(frozen=True)
class Share:
    """Part ``number`` of ``of`` equal parts of a tensor of ours, along one of its axes: the tensor of one expert."""

    number: int
    of: int
    axis: int = 0


@dataclass(frozen=True)
class Stack:
    """All ``of`` equal parts of a tensor of ours along ``axis``, as rows of an axis of their own, in front."""

    of: int
    axis: int = 0


How: TypeAlias = Literal["same", "transposed", "row", "from_one"]


@dataclass(frozen=True)
class Rename:
    """What a tensor of somebody else's checkpoint is here.

    In both names ``{layer}`` stands for the number of a block and a last ``*`` for ``weight`` or
    ``bias``; in theirs a last ``**`` is anything, and ``[…]`` encloses what some files leave out. Where ``ours`` is
    several names, the tensor is cut along its first axis into one piece for each. Two rows may fill the
    same place, as where a tied table is stored twice: their values must then be equal.

    Attributes:
        how: ``transposed`` where they store [.., in, out] and we [.., out, in] (this happens before the
            cut); ``row`` where theirs has one axis more, of length 1, in front; ``from_one`` where theirs is how
            far ours is from 1.
        groups: where the pieces take turns along the first axis, as query, key and value of each head do, how often.
        roll: by how many rows each of the ``groups`` goes round: its last ones come first.
        skip: rows at the start of theirs that nothing reads, as before the first position.
        share: where theirs is only a part of ours, which part.
        stack: where theirs is the parts of ours on an axis of their own, as GGUF has experts.
        times: what each of its numbers is multiplied by.
        joined: the axes that theirs has in the place of our last one.
        told: whether a visitor is told that it is left out.
        because: why a tensor without a place here may be left out; only where ``ours`` is empty.
    """

    theirs: str
    ours: tuple[str, ...]
    how: How = "same"
    because: str = ""
    groups: int = 1
    skip: int = 0
    roll: int = 0
    told: bool = False
    share: Share | None = None
    stack: Stack | None = None
    joined: tuple[int, ...] = ()
    times: float = 1.0

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        text = re.escape(self.theirs)
        text = text.replace(r"\[", "(?:").replace(r"\]", ")?").replace(r"\{layer\}", r"(?P<layer>0|[1-9]\d{0,4})")
        if self.theirs.endswith("**"):
            return re.compile(text.removesuffix(r"\*\*") + ".+")
        return re.compile(text.removesuffix(r"\*") + "(?P<end>weight|bias)" if self.theirs.endswith("*") else text)

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows of theirs are those of ours, one after the other, whatever they hold."""
        same = self.how == "same" and self.times == 1 and self.share is None and not self.joined
        return (
            same and self.groups == 1 and not (self.roll or self.skip) and (self.stack is None or not self.stack.axis)
        )

    def their_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The shape of their tensor, from the shapes of our pieces of it."""
        if not shapes[0]:  # a single number, which theirs may hold as a row of one
            return (1,) if self.how == "row" else ()
        joined = (self.skip + sum(shape[0] for shape in shapes), *shapes[0][1:])
        if self.share is not None:
            axis = self.share.axis
            joined = (*joined[:axis], joined[axis] // self.share.of, *joined[axis + 1 :])
        if self.stack is not None:
            axis = self.stack.axis
            joined = (self.stack.of, *joined[:axis], joined[axis] // self.stack.of, *joined[axis + 1 :])
        if self.joined:
            joined = (*joined[:-1], *self.joined)
        turned = (*joined[:-2], *joined[:-3:-1])
        return {"transposed": turned, "row": (1, *joined)}.get(self.how, joined)

    def pieces(self, tensor: Tensor, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        """Their tensor as ours: one piece of each of ``sizes`` along the first axis."""
        if self.share is not None:
            return (tensor,)
        match self.how:
            case "transposed" if tensor.dim() >= 2:
                tensor = tensor.mT
            case "row":
                tensor = tensor[0]
            case "from_one":
                tensor = tensor.float() + 1
        if not tensor.dim():
            return (tensor,)
        tensor = tensor if self.times == 1 else tensor.float() * self.times
        if self.stack is not None:
            axis = self.stack.axis
            tensor = tensor.movedim(0, axis).flatten(axis, axis + 1)
        if self.joined:
            tensor = tensor.flatten(-len(self.joined))
        if self.groups == 1 and not self.roll:
            return tensor[self.skip :].split(list(sizes))
        turns = tensor[self.skip :].unflatten(0, (self.groups, -1))
        turns = turns.roll(self.roll, 1) if self.roll else turns
        return tuple(piece.flatten(0, 1) for piece in turns.split([size // self.groups for size in sizes], 1))


def rename(
    theirs: str,
    *ours: str,
    how: How = "same",
    groups: int = 1,
    skip: int = 0,
    share: Share | None = None,
    stack: Stack | None = None,
    joined: tuple[int, ...] = (),
) -> Rename:
    """A row of a table: their name, and what it is here."""
    return Rename(theirs, ours, how, groups=groups, skip=skip, share=share, stack=stack, joined=joined)


def unembedding(theirs: str, config: ModelConfig) -> Rename:
    """A row of a table for the matrix that makes logits, which may be that of the embedding."""
    return rename(theirs, "embedding.weight" if config.tie_embeddings else "head.unembedding.weight")


def ignored(theirs: str, because: str) -> Rename:
    """A row of a table for a tensor that the model does without, and the reason."""
    return Rename(theirs, (), because=because)


def task_head(theirs: str) -> Rename:
    """A row of a table for a head that is trained on a task and says nothing of tokens."""
    return Rename(theirs, (), because="it answers the question of one task, on the vectors that are shown", told=True)
