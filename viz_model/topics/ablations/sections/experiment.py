"""What an experiment is: a question about this run, the edit that answers it, and what is measured then."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from viz_model.app.ahead import Dimension
from viz_model.claims import Claim
from viz_model.runs.edits import Edit
from viz_model.runs.edits.structure import StructureEdit
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.claims import OUTCOMES
from viz_model.topics.ablations.pictures.series import SeriesView
from viz_model.topics.ablations.sections.lab import Lab

Facts = dict[str, object]
T = TypeVar("T")


def nothing(lab: Lab) -> None:
    """Nothing is drawn, or missing."""


class Finding(NamedTuple):
    """What an experiment found.

    Attributes:
        outcome: the claim that is made of it, with ``facts`` in its words.
        draw: draws the measure.
        table: its columns.
        waits: for a visitor who asks for so many runs (:meth:`.Lab.allow`).
        text: says as much as is known, where there is no outcome yet.
    """

    outcome: Claim[Any] | None
    facts: Mapping[str, object]
    draw: Callable[[], None] = lambda: None
    table: Mapping[str, list[object]] = {}
    waits: tuple[Hashable, int] | None = None
    text: str = ""


@dataclass(frozen=True)
class Experiment:
    """One question.

    Attributes:
        name: in the address and of its texts.
        edit: the sort of edit that belongs to it, or the sorts.
        ask: for the question, what the run as it is says.
        make: the edit that answers it, for a guess; None where there is nothing to change.
        answer: what the changed run says.
        missing: why it cannot be tried on this model or text: a key of the page's words.
        before: draws the measure as it is, while the question is open.
        controls: what a visitor may choose before.
        belongs: which edits of that sort are meant; by default all.
        everywhere: its edit is of no one stack.
        least: tokens that it takes.
        guesses: those that make sense in this model; by default all.
        is_read: whether its answer is read off the two runs that are there, for any layer, head and token, without
            others.
    """

    name: str
    edit: type[Edit] | tuple[type[Edit], ...]
    ask: Callable[[Lab], Facts]
    make: Callable[[Lab, str | None], Edit | None]
    answer: Callable[[Lab, Any, Trace], Finding]
    missing: Callable[[Lab], str | None] = nothing
    before: Callable[[Lab], None] = nothing
    controls: Callable[[Lab], None] = nothing
    belongs: Callable[[Lab, Any], bool] = lambda lab, edit: True
    everywhere: bool = False
    least: int = 2
    guesses: Callable[[Lab], Sequence[str]] | None = None
    is_read: bool = False

    def lacks(self, lab: Lab) -> str | None:
        return "few_tokens" if len(lab.plain) < self.least else self.missing(lab)

    def fits(self, lab: Lab, edit: Edit) -> bool:
        """Whether an edit is one that this experiment asks about, in the stack that is looked at."""
        side = getattr(edit, "side", None) or lab.plain.config.sides[-1]
        is_here = self.everywhere or side == lab.plain.stack.side
        return isinstance(edit, self.edit) and is_here and self.belongs(lab, edit)


@dataclass(frozen=True)
class Measure:
    """A measure by place, in the run before and after a part is left out everywhere.

    Attributes:
        name: of the experiment.
        ask: for the question, what the run as it is says.
        values: the measure [N] of a run; not finite where there is none.
        places: the names of the N places.
        axes: the keys of what the places and the measure are called.
        judge: the values of the experiment's verdict, and what the text calls ``after``.
        site: what is measured.
        by: what is looked at that makes a difference to it.
    """

    name: str
    ask: Callable[[Lab], Facts]
    values: Callable[[Lab, Trace], np.ndarray]
    places: Callable[[Lab], tuple[str, ...]]
    axes: tuple[str, str]
    judge: Callable[[np.ndarray, np.ndarray], tuple[Any, str]]
    site: str
    lines: bool = False
    marked: tuple[int, ...] = ()
    by: tuple[Dimension, ...] = ()

    def before(self, lab: Lab) -> None:
        self._draw(lab, lambda lab: self._view(lab, {"before": self.values(lab, lab.plain)}))

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        view = self._both(lab, after)
        values, after_written = self.judge(view.series["before"], view.series["after"])
        facts = {**self.ask(lab), "after": after_written}
        draw = partial(self._draw, lab, lambda lab: self._both(lab, after))
        return Finding(OUTCOMES[self.name].of(values), facts, draw, view.table())

    def _both(self, lab: Lab, after: Trace) -> SeriesView:
        return self._view(lab, {"before": self.values(lab, lab.plain), "after": self.values(lab, after)})

    def _view(self, lab: Lab, series: Mapping[str, np.ndarray]) -> SeriesView:
        return SeriesView(self.places(lab), series, self.site, self.marked)

    def _draw(self, lab: Lab, view: Callable[[Lab], SeriesView]) -> None:
        places, measure = map(lab.page.t, self.axes)
        lab.draw(view, (places, measure), f"measure_{self.name}", lines=self.lines, by=self.by)


def left_out(
    measure: Measure,
    edit: type[Edit],
    make: Callable[[Lab], Edit] | None = None,
    missing: Callable[[Lab], str | None] | None = None,
    least: int = 2,
) -> Experiment:
    """An experiment about a part that is left out everywhere; a model may not have it in the first place."""

    def lacks(lab: Lab) -> str | None:
        assert issubclass(edit, StructureEdit)
        is_left_out = all(getattr(lab.plain.config, field) == value for field, value in edit.changes.items())
        return f"no_{measure.name}" if is_left_out else None

    return Experiment(
        measure.name,
        edit,
        measure.ask,
        lambda lab, guess: edit() if make is None else make(lab),
        measure.answer,
        missing=lacks if missing is None else missing,
        before=measure.before,
        everywhere=True,
        least=least,
        is_read=True,
    )


def evenly(items: Sequence[T], most: int) -> list[T]:
    """At most so many items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / (most - 1))] for n in range(most)]
