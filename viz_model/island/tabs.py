"""The four tabs of a page, in which it is worked out, and what can be tried on it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from viz_model.config import Side
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.runs.trace import Trace


class Worked(NamedTuple):
    """A number that is worked out: the keys of the prose before it, its site in the run's view, and where in it."""

    words: tuple[str, ...]
    site: str
    at: tuple[int, ...]
    trace: Trace | None = None
    """The run that it is of; the page's own unless another is named."""
    said: str = ""
    """Prose before it that is as it is, in the place of ``words``."""


Table: TypeAlias = tuple[str, np.ndarray, Sequence[str], Sequence[str]]


class Tabs(NamedTuple):
    """What the four tabs of a page have, of the selected layer, head and token.

    Attributes:
        formulas: the names of values whose formulas are shown.
        hand: what is said before the numbers that are worked out, those numbers, and what fills their texts.
        code: the names of values whose code is offered, the page's own first.
        numbers: the name of a value with its numbers, and the names of rows and columns; None beside ``records``.
        said: what is said of the formulas.
        begins: what is said before them.
        tables: further numbers, as ``numbers``.
        picture: drawn with the numbers that are worked out.
        own: a snippet of the page's own in place of that of its name, and what fills it.
        records: tables of any kind: the name of each, what is said before it, and columns by their headings.
        ends: what is said after the numbers that are worked out.
        side: the stack that all of it is of, where that is not always the selected one.
    """

    formulas: Callable[[Look], Sequence[str]]
    hand: Callable[[Look], tuple[Line | None, Sequence[Worked], dict[str, Any]]]
    code: Callable[[Look], Sequence[str]]
    numbers: Callable[[Look], Table | None]
    said: Callable[[Look], Iterable[Line]] | None = None
    begins: Callable[[Look], Iterable[Line]] | None = None
    tables: Callable[[Look], Sequence[Table]] | None = None
    picture: Callable[[Look], Scene | None] | None = None
    own: Callable[[Look], tuple[str, dict[str, Any]]] | None = None
    records: Callable[[Look], Sequence[tuple[str, str, Mapping[str, Sequence[object]]]]] | None = None
    ends: Callable[[Look], Iterable[Line]] | None = None
    side: Callable[[Look], Side] | None = None


class Trials(NamedTuple):
    """What two other pages have on a stage, by the names that are chosen there.

    Attributes:
        experiments: in which something is taken out of the model.
        bugs: mistakes in the code of the stage.
    """

    experiments: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()
