"""Edits of what a run is given: who may look at whom, and in which order the tokens stand."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import torch

from viz_model.config import Side
from viz_model.model import masks
from viz_model.runs.edits.base import Edit, Run, check_number, stack_of


@dataclass(frozen=True, kw_only=True)
class FlipMask(Edit):
    """Turn over one cell of the mask of self-attention, or a whole row: what was hidden is seen, and the reverse.

    A row may be empty between two edits; at the end every row must see something.

    Attributes:
        query: the row.
        key: the cell in it; None for all of them.
        layer: the layer; None for all of them.
    """

    tag: ClassVar[str] = "flip"
    query: int
    key: int | None = None
    layer: int | None = None
    side: Side | None = None

    @property
    def names_positions(self) -> bool:
        return True

    def prepare(self, run: Run) -> Run:
        side = stack_of(run.config, self.side)
        check_number("query", self.query, len(run.ids[side]))
        if self.key is not None:
            check_number("key", self.key, len(run.ids[side]))
        if self.layer is not None:
            check_number("layer", self.layer, run.config.depth(side))
        visible = run.mask(side).clone()
        cells = (
            slice(None) if self.layer is None else self.layer,
            self.query,
            slice(None) if self.key is None else self.key,
        )
        visible[cells] = ~visible[cells]
        if (visible == visible[0]).all():
            visible = visible[0]  # one matrix for all layers
        return dataclasses.replace(run, masks={**run.masks, side: visible})


@dataclass(frozen=True, kw_only=True)
class NoMask(Edit):
    """Every position sees every other: a decoder sees the future, a window opens.

    Attributes:
        side: of an encoder–decoder, one of its stacks; by default both.
    """

    tag: ClassVar[str] = "no-mask"
    side: Side | None = None

    @property
    def reads_whole_text(self) -> bool:
        return True

    def prepare(self, run: Run) -> Run:
        sides = run.ids if self.side is None else [stack_of(run.config, self.side)]
        opened = {side: masks.everything(len(run.ids[side]), len(run.ids[side])) for side in sides}
        return dataclasses.replace(run, masks={**run.masks, **opened})


@dataclass(frozen=True, kw_only=True)
class ShuffleTokens(Edit):
    """The tokens of the text in another order. Control tokens stay where they are, and so does a decoder's start.

    Attributes:
        seed: the order is drawn from it; or
        order: which token comes first, second, …: every number from 0 on once, counted over the
            tokens that move.
        side: what is shuffled, of an encoder–decoder; by default what its encoder reads.
    """

    tag: ClassVar[str] = "shuffle"
    seed: int | None = None
    order: tuple[int, ...] | None = None
    side: Side | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.seed is None) == (self.order is None):
            raise ValueError("seed: give either a seed or an order")
        if self.seed is not None and not 0 <= self.seed < 2**63:
            raise ValueError(f"seed: expected a whole number of at least 0, got {self.seed}")

    def moved(self, n: int) -> list[int]:
        """The order of ``n`` tokens.

        Raises:
            ValueError: ``order`` is not one of so many.
        """
        if self.order is not None:
            if sorted(self.order) != list(range(n)):
                raise ValueError(f"order: expected each of 0 to {n - 1} once, got {len(self.order)} numbers")
            return list(self.order)
        assert self.seed is not None
        order: list[int] = torch.randperm(n, generator=torch.Generator().manual_seed(self.seed)).tolist()
        return order

    def prepare(self, run: Run) -> Run:
        side = stack_of(run.config, self.side or run.config.sides[0])
        ids = run.ids[side]
        starts = 1 if side == "decoder" and len(run.ids) > 1 else 0
        controls = run.controls.get(side, frozenset())
        moving = [n for n, id in enumerate(ids) if id not in controls and n >= starts]
        shuffled = list(ids)
        for to, come_from in zip(moving, self.moved(len(moving)), strict=True):
            shuffled[to] = ids[moving[come_from]]
        return dataclasses.replace(run, ids={**run.ids, side: tuple(shuffled)})
