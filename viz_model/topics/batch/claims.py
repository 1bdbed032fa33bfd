"""What may be said of a batch: that its rows are as if alone, what padding costs, and what neighbours change."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Verdict, exceeds

SAME = 1e-5
"""Of the largest number of the output: what single precision loses in a few hundred additions."""


class Gap(NamedTuple):
    """Between the output of the rows in the batch and alone.

    ``gap`` is the largest difference, ``largest`` the largest number of the output, ``n_padding`` how many
    positions are padding.
    """

    gap: float
    largest: float
    n_padding: int

    @property
    def is_same(self) -> bool:
        return self.gap <= SAME * max(1.0, self.largest)


ALONE: Verdict[Gap] = Verdict("batch.alone", Claim("same", lambda gap: gap.is_same))

OPEN: Verdict[Gap] = Verdict(
    "batch.open", Claim("full", lambda gap: gap.n_padding == 0), Claim("same", lambda gap: gap.is_same)
)


class Losses(NamedTuple):
    """Mean loss in nats over the tokens asked for, and with padding counted too."""

    mean: float
    counted: float
    n_padding: int


COUNTED: Verdict[Losses] = Verdict(
    "batch.counted",
    Claim("none", lambda losses: losses.n_padding == 0),
    Claim("higher", lambda losses: exceeds(losses.counted, losses.mean, 3)),
    Claim("lower", lambda losses: exceeds(losses.mean, losses.counted, 3)),
)


class Moves(NamedTuple):
    """How far a vector moves when its neighbours are replaced, ‖Δ‖/‖·‖, in batches of four and of two sentences."""

    layer_four: float
    layer_two: float
    batch_four: float
    batch_two: float


LAYER_NORM: Verdict[Moves] = Verdict(
    "batch.layer_norm", Claim("nothing", lambda moves: moves.layer_four == moves.layer_two == 0)
)

BATCH_NORM: Verdict[Moves] = Verdict(
    "batch.batch_norm",
    Claim("smaller", lambda moves: exceeds(moves.batch_two, moves.batch_four, 3) and moves.batch_four > 0),
)
