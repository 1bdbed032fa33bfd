"""What the two functions of a pair made of the same tensors, ready to be drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from torch import Tensor

from viz_model.tokenizers.tokenizer import Token

Axis = Literal["query", "key", "token", "dimension"]
MOST_COLUMNS = 48


class Matrix(NamedTuple):
    """Numbers [R, C] with what their axes are; the columns may be the first of more (``n_columns``)."""

    values: np.ndarray
    rows: Axis
    columns: Axis
    n_columns: int
    is_pattern: bool = False

    @property
    def is_lost(self) -> np.ndarray:
        """Of each row whether it holds NaN, [R]."""
        lost: np.ndarray = np.isnan(self.values).any(-1)
        return lost


def matrix(value: Tensor, rows: Axis, columns: Axis, *, is_pattern: bool = False) -> Matrix:
    """A tensor [R, C]: all of its keys, the first of its dimensions."""
    shown = value if columns == "key" else value[:, :MOST_COLUMNS]
    return Matrix(shown.float().numpy(), rows, columns, value.shape[-1], is_pattern)


class Bars(NamedTuple):
    """A number for each of a few tokens."""

    values: np.ndarray
    tokens: tuple[Token, ...]
    of: Literal["loss", "probability"]


class Reply(NamedTuple):
    """What a function gave back or refused, in Python's own words."""

    text: str
    is_error: bool


Result: TypeAlias = Matrix | Bars | Reply


class Effect(NamedTuple):
    """What the whole model says at one position, right and with the bug everywhere.

    Without logits there are no tokens, and ``change`` is ‖difference‖ / ‖right‖ of the vectors; with
    them it is KL(right ‖ wrong) in bits. It is NaN where the bug leaves no number.
    """

    before: tuple[Token, float] | None
    after: tuple[Token, float] | None
    change: float

    @property
    def is_lost(self) -> bool:
        return math.isnan(self.change)


class Outcome(NamedTuple):
    """What both functions made of the same tensors.

    ``largest`` is max |right − wrong| at cell ``at`` and ``relative`` ‖right − wrong‖ / ‖right‖ over the finite
    cells, ``n_lost`` the rows of the wrong one that hold NaN, ``gap`` max |right − trace|. All are None where they
    mean nothing. ``facts`` are further numbers by name.
    """

    right: Result
    wrong: Result
    largest: float | None
    at: tuple[int, int] | None
    relative: float | None
    n_lost: int
    gap: float | None
    effect: Effect | None
    facts: Mapping[str, str]


def largest(*results: Result) -> float:
    """The largest finite magnitude of several, so that a colour or a length means the same in all; 1 of none."""
    values = [made.values for made in results if not isinstance(made, Reply)]
    return max((float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in values), default=0.0) or 1.0


def difference(a: Result, b: Result) -> tuple[float | None, tuple[int, int] | None, float | None]:
    """``largest``, ``at`` and ``relative`` of an :class:`Outcome`."""
    if not (isinstance(a, Matrix) and isinstance(b, Matrix)):
        return None, None, None
    gaps = np.abs(a.values - b.values)
    known = np.isfinite(gaps)
    if not known.any():
        return None, None, None
    row, column = np.unravel_index(np.where(known, gaps, -1).argmax(), gaps.shape)
    length = float(np.linalg.norm(a.values[known]))
    relative = float(np.linalg.norm(gaps[known])) / length if length else None
    return float(gaps[row, column]), (int(row), int(column)), relative
