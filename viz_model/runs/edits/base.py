"""What an edit is, and the plan of a run that edits change one after the other."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from viz_model.config import ConfigError, ModelConfig, Side, check_fields
from viz_model.model import masks, sites
from viz_model.model.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Edit(ABC):
    """A change to a run, as a value: it says what to change, and touches no model.

    Raises:
        ValueError: a field is of another type; the message begins with its name.
    """

    tag: ClassVar[str]
    """Its name in an address (:mod:`viz_model.runs.edits.address`)."""

    def __post_init__(self) -> None:
        try:
            check_fields(self)
        except ConfigError as wrong:
            raise ValueError(str(wrong)) from None

    @abstractmethod
    def prepare(self, run: "Run") -> "Run":
        """The plan with this edit in it.

        Raises:
            ValueError: this model or this text has no such place; the message begins with the field.
        """

    @property
    def names_positions(self) -> bool:
        """Whether it speaks of positions of one text, and so means nothing for a text that grows."""
        return False

    @property
    def reads_whole_text(self) -> bool:
        """Whether what it does at a position depends on later ones, so that nothing of the past can be kept."""
        return False


class ValueEdit(Edit):
    """A change to one named value, made where the value is computed."""

    @abstractmethod
    def site(self, config: ModelConfig) -> str:
        """The full name of the value it changes.

        Raises:
            ValueError: this model has no such place; the message begins with the field.
        """

    @abstractmethod
    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        """The value [B, …] to go on with. The one given is not changed.

        Args:
            value: what the run computed, or what the edit before this one made of it.
            name: its full name.
            seen: the values of the run so far, by full name.
        """

    def prepare(self, run: "Run") -> "Run":
        name = self.site(run.config)
        return dataclasses.replace(run, changes={**run.changes, name: (*run.changes.get(name, ()), self)})


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What is going to be run.

    Attributes:
        model: the model as it was loaded.
        config: what will run with its weights: that model's config, or one that lacks a part.
        ids: what each stack reads.
        masks: boolean [T, T] or [L, T, T] in place of the stacks' own.
        changes: value edits by the full name of the value, in the order in which they are made.
        controls: by side, ids that are no part of a text or a picture.
        vectors: what other runs had at the places that :class:`~viz_model.runs.edits.PatchResidual` names.
    """

    model: Transformer
    config: ModelConfig
    ids: Mapping[Side, tuple[int, ...]]
    masks: Mapping[Side, Tensor] = field(default_factory=dict)
    changes: Mapping[str, tuple[ValueEdit, ...]] = field(default_factory=dict)
    controls: Mapping[Side, frozenset[int]] = field(default_factory=dict)
    vectors: Mapping[Edit, Tensor] = field(default_factory=dict)

    def mask(self, side: Side) -> Tensor:
        """The masks of a stack's self-attention as planned so far: [L, T, T]."""
        length, stack = len(self.ids[side]), self.model.stack(side)
        given = self.masks.get(side)
        if given is None:
            return torch.stack([stack.visible(layer, length, length) for layer in range(len(stack.blocks))])
        return given.expand(len(stack.blocks), length, length)


def listed(edits: Edit | Iterable[Edit]) -> tuple[Edit, ...]:
    """Edits in their order; one alone stands for a list of one.

    Raises:
        TypeError: something else is among them.
    """
    found = (edits,) if isinstance(edits, Edit | str) else tuple(edits)
    for edit in found:
        if not isinstance(edit, Edit):
            raise TypeError(f"edits: expected edits such as vm.edits.NoMask(), got {edit!r}")
    return found


def check_fitting(run: Run) -> None:
    """Refuse masks that edits have emptied.

    Raises:
        ValueError: a row of a mask sees nothing.
    """
    for side, visible in run.masks.items():
        if (row := masks.blind(visible)) is not None:
            raise ValueError(f"query: {row} of the {side} would see no token, and a softmax over nothing is undefined")


Part = Literal["attn", "cross", "ffn"]


def stack_of(config: ModelConfig, side: Side | None) -> Side:
    """The stack that is meant: by default the one that the model's output comes from."""
    side = side or config.sides[-1]
    if side not in config.sides:
        raise ValueError(f"side: this model has {' and '.join(config.sides)}, not {side}")
    return side


def check_number(name: str, number: int, count: int) -> None:
    """Refuse what lies outside 0 … count − 1; ``name`` is the field."""
    if not 0 <= number < count:
        raise ValueError(f"{name}: expected 0 to {count - 1}, got {number}")


def check_part(config: ModelConfig, side: Side, part: Part, name: str) -> None:
    """Refuse cross-attention where there is none; ``name`` is the field."""
    if part == "cross" and not (config.kind == "encoder_decoder" and side == "decoder"):
        raise ValueError(f"{name}: only the decoder of an encoder–decoder has cross-attention")


def place(config: ModelConfig, side: Side, layer: int, rest: str) -> str:
    """The full name of a value of a block: ``decoder.blocks.1.attn.z``."""
    return f"{sites.prefix(config, side)}blocks.{layer}.{rest}"
