"""The pair that is looked at, and the run on which it is computed: this one, or one that has what the pair needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from viz_model.app import elements, examples, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.sheet import Sheet
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.mistakes import numbers
from viz_model.topics.mistakes.choices import ANSWERS, BUG, right_first, wrong_letter
from viz_model.topics.mistakes.numbers import BUGS, Bug, Place
from viz_model.topics.mistakes.numbers.results import Matrix, Outcome, largest
from viz_model.topics.mistakes.pictures.results import draw_matrix

STAND_INS = ("story-pre-ln", "story-bert", "story-modern")
"""Decoders and an encoder that between them have what every bug needs."""
MOST_TOKENS = 300
"""Tokens of a text on which a bug is shown: the whole model runs again with it, its T×T values laid open."""

Where: TypeAlias = Literal["own", "other_side", "stand_in"]


@dataclass(frozen=True)
class Exercise:
    """A pair, and where it is computed.

    Attributes:
        page: the open one.
        shown: the page of the run that is computed on: the open page's own, its other stack, or that of a model
            that stands in, as ``where`` says.
        place: None where no model fits.
        lack: what the page's own run lacks.
    """

    page: Page
    shown: Page
    bug: Bug
    place: Place | None
    where: Where
    lack: str | None

    @classmethod
    def of(cls, page: Page) -> Exercise:
        bug, lack = BUGS[elements.on_offer(page, BUG, tuple(BUGS))], None
        for where, shown in _candidates(page):
            missing = _missing(bug, shown)
            if missing is None:
                return cls(page, shown, bug, _place(shown), where, lack)
            lack = lack or missing
        return cls(page, page, bug, None, "own", lack)

    def at(self, page: Page) -> Exercise | None:
        """The same on the same run where the page looks at another layer, head or token; None where that lacks it."""
        if self.place is None:
            return None
        run = self.shown.trace
        layer, head = min(page.view.layer, run.n_layers - 1), min(page.view.head, run.config.n_heads - 1)
        view = replace(self.shown.view, layer=layer, head=head)
        shown = page if self.where == "own" else replace(self.shown, view=view)
        return None if _missing(self.bug, shown) else replace(self, page=page, shown=shown, place=_place(shown))

    def lacks(self, page: Page) -> Exercise | None:
        """The same with what the page's own run lacks at another layer, head or token; None where it lacks nothing."""
        lack = _missing(self.bug, page)
        return None if lack is None else replace(self, page=page, lack=lack)

    @property
    def wrong(self) -> str:
        """The letter of the wrong one."""
        return wrong_letter(self.bug.name)

    @property
    def answer(self) -> str | None:
        """The letter that the visitor has chosen."""
        return self.page.chosen(ANSWERS).get(self.bug.name)

    @property
    def site(self) -> str:
        """The name of the value that the right one gives, for prose."""
        assert self.place is not None
        return literal(self.shown.trace.full_name(self.bug.site_of(self.place)))

    @property
    def lacking(self) -> str:
        """In words what the page's own run lacks."""
        return self.page.words(f"lack_{self.lack}", layer=self.page.view.layer)

    def ordered(self, right: Any, wrong: Any) -> tuple[Any, Any]:
        """What stands under A and under B."""
        return (right, wrong) if right_first(self.bug.name) else (wrong, right)

    def outcome(self) -> Outcome:
        """What both functions make of this run, where there is a place for it."""
        assert self.place is not None
        shown = self.shown
        return _outcome(shown.run_key, shown.trace.stack.side, self.bug.name, *self.place[1:])

    def given(self) -> Matrix | None:
        """What both functions are given first, where that can be drawn."""
        return None if self.place is None else numbers.given(self.bug, self.place)

    def facts(self, outcome: Outcome) -> dict[str, object]:
        """For prose: numbers of the outcome, and names."""
        assert self.place is not None
        return {
            "length": len(self.shown.trace),
            **outcome.facts,
            "site": self.site,
            "layer": self.place.layer,
            "head": self.place.head,
            "wrong": self.wrong,
        }

    def names(self, matrix: Matrix) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the rows and columns of a matrix are called; those beyond the tokens are padding."""
        known, padding = self.shown.token_labels, self.page.words("padding")

        def named(axis: str, n: int) -> tuple[str, ...]:
            return tuple(map(str, range(n))) if axis == "dimension" else (*known[:n], *[padding] * (n - len(known)))

        n_rows, n_columns = matrix.values.shape
        return named(matrix.rows, n_rows), named(matrix.columns, n_columns)

    def draw(self, matrix: Matrix, key: str, title: str, alt: str, *beside: Matrix) -> None:
        """A matrix, on one scale with those ``beside`` it."""
        elements.figure(self.page, self.figure(matrix, title, *beside), key, alt)

    def figure(self, matrix: Matrix, title: str, *beside: Matrix) -> Sheet:
        shown, across = matrix.values.shape[1], self.page.t(f"common.axis_{matrix.columns}")
        if matrix.n_columns > shown:
            across = self.page.words("first_columns", shown=shown, all=matrix.n_columns)
        titles = self.page.t(f"common.axis_{matrix.rows}"), across
        return draw_matrix(matrix, self.names(matrix), titles, largest(matrix, *beside), title=title)


@cached()
def _outcome(run: runs.RunKey, side: Side, bug: str, layer: int, head: int, position: int) -> Outcome:
    return numbers.outcome(BUGS[bug], Place(runs.trace(run).at(side), layer, head, position))


def _place(shown: Page) -> Place:
    return Place(shown.trace, shown.view.layer, shown.view.head, shown.token)


def _missing(bug: Bug, shown: Page) -> str | None:
    """What the run of a page lacks; None where the pair can be computed there."""
    return "room" if len(shown.trace) > MOST_TOKENS else bug.lacks(_place(shown))


def _candidates(page: Page) -> Iterator[tuple[Where, Page]]:
    """Where a bug may be computed: here, in the other stack, here on an example, or in a bundled model."""
    yield "own", page
    for side in page.lm.config.sides:
        if side != page.trace.stack.side:
            yield "other_side", _moved(page, page.trace.at(side))
    own = page.view.model
    if page.lm.config.kind != "encoder_decoder":  # that would need a target too
        yield "stand_in", _other(page, own, examples.of(runs.model(own), page.t.language)[0])
    for name in STAND_INS:
        if name in runs.offered() and name != own:
            for text in (page.trace.text or examples.EXAMPLES[0], examples.EXAMPLES[0]):
                yield "stand_in", _other(page, name, text)


def _other(page: Page, name: str, text: str) -> Page:
    """The page on a run of a model on a text, without interventions."""
    lm, run = runs.model(name), runs.trace(runs.RunKey(name, text))
    other = replace(page, lm=lm, view=replace(page.view, model=name, edits=()))
    return _moved(other, run.at(lm.config.sides[-1]))


def _moved(page: Page, run: Trace) -> Page:
    """The page on another run, with layer, head and token within its bounds."""
    layer, head = min(page.view.layer, run.n_layers - 1), min(page.view.head, run.config.n_heads - 1)
    view = replace(page.view, layer=layer, head=head, side=run.stack.side)
    return replace(page, trace=run, token=len(run) - 1, view=view)
