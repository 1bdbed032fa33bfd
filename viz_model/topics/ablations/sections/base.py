"""What an experiment is: a question about this run, the edit that answers it, and what is measured then."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
import streamlit as st

from viz_model.app import runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.config import Side
from viz_model.drawing.writing import percent
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import ablations as break_it

AT_ONCE = 2e9
"""Multiplications of several runs that are made unasked: about two seconds on one slow core."""
AT_MOST = 6e10
"""And when a visitor asks for them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Lab:
    """The page with the run as it is, seen from the stack that is looked at; ``at`` is where its answer is read."""

    stage: Stage
    plain: Trace
    at: breaking.Place

    @property
    def side(self) -> Side | None:
        """The stack for an edit; None is the one that the output comes from."""
        side = self.plain.stack.side
        return None if side == self.plain.config.sides[-1] else side

    @property
    def tried(self) -> Edit | None:
        """The view's change, where it has a single one."""
        made = self.stage.trace.edits
        return made[0] if len(made) == 1 else None

    @property
    def layer(self) -> int:
        return self.stage.view.layer

    @property
    def head(self) -> int:
        return self.stage.view.head

    @property
    def token(self) -> int:
        return min(self.stage.token, len(self.plain) - 1)

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens of the run as it is."""
        return tuple(token.label for token in self.plain.tokens)

    def token_name(self, position: int) -> str:
        return literal(self.plain.tokens[position].label)

    @property
    def unit(self) -> str:
        """The measure of a changed answer."""
        return self.words("bits" if self.plain.config.has_logits else "turn")

    def words(self, key: str, /, **values: object) -> str:
        return self.stage.t(f"ablations.{key}", **values)

    def amount(self, amount: float) -> str:
        """A changed answer in words: bits, or 1 − cosine."""
        return self.words("amount_bits" if self.plain.config.has_logits else "amount_turn", amount=f"{amount:.3f}")

    @property
    def subject(self) -> str:
        """What is asked about, in words: the first choice here, or the direction of the last vector."""
        seen = self.plain.at(self.at.side)
        token = literal(seen.tokens[self.at.position].label)
        if not self.plain.config.has_logits:
            return self.words("subject_vector", token=token)
        best, share = seen.next_tokens(self.at.position, 1)[0]
        key = "subject_at" if self.plain.config.kind == "encoder" else "subject_after"
        return self.words(key, token=token, top=literal(best.label), share=percent(share))

    def top(self, cost: breaking.Cost) -> str:
        """The first choice after a change, in words."""
        return "" if cost.top is None else literal(self.plain.tokenizer.token(cost.top).label)

    def depths(self, n: int) -> list[str]:
        """Names of the depths of the stream: the embedding, then each block."""
        return [self.words("depth_0"), *(self.words("depth", layer=layer) for layer in range(n))]

    # Several runs

    def affordable(self, n: int) -> int:
        """How many of ``n`` runs are made when asked, at least 8."""
        return min(n, max(8, int(AT_MOST / self._work)))

    @property
    def _work(self) -> int:
        n_tokens = len(self.plain.ids) + len(self.plain.target_ids or ())
        return sum(parameter.numel() for parameter in self.plain.model.parameters()) * n_tokens

    def several(self, key: Hashable, n: int, make: Callable[[], Iterator[T]]) -> list[T] | None:
        """What ``n`` runs gave, kept under a key; where they are much work, None until a visitor asks for them."""
        full = (self.stage.asked.plain, self.plain.stack.side, self.at, key)
        asked: set[Hashable] = st.session_state.setdefault("ablations.measured", set())
        if full not in asked and n * self._work > AT_ONCE:
            st.button(
                self.words("measure", n=n),
                key=f"ablations.measure.{hash(full)}",
                icon=":material/timer:",
                on_click=asked.add,
                args=(full,),
            )
            return None
        with st.spinner(self.words("measuring", n=n)):
            return list(_kept(full, make))

    def once(self, name: Hashable, trace: Trace, make: Callable[[], T]) -> T:
        """A number of a run that takes reading all of its patterns, or all of its stream: computed once."""
        run = runs.RunKey.of(self.stage.view.model, trace), trace.stack.side, name
        return _kept(run, lambda: iter((make(),)))[0]

    def allow(self, key: Hashable) -> None:
        """A press of the button asks for the runs, too."""
        full = (self.stage.asked.plain, self.plain.stack.side, self.at, key)
        st.session_state.setdefault("ablations.measured", set()).add(full)

    # Pictures

    def bars(self, view: break_it.SeriesView, axes: tuple[str, str], key: str) -> None:
        names = {name: self.words(f"series_{name}") for name in view.series}
        self.stage.figure(break_it.draw_bars(view, names, axes), key, self.words("measure_alt", measure=axes[1]))

    def lines(self, view: break_it.SeriesView, axes: tuple[str, str], key: str) -> None:
        names = {name: self.words(f"series_{name}") for name in view.series}
        self.stage.figure(break_it.draw_lines(view, names, axes), key, self.words("measure_alt", measure=axes[1]))


@st.cache_resource(show_spinner=False, max_entries=64)
def _kept(key: Hashable, _make: Callable[[], Iterator[T]]) -> tuple[T, ...]:
    """One run at a time, so that other visitors' runs come in between."""
    found: list[T] = []
    going = _make()
    while True:
        with runs.alone():
            some = list(itertools.islice(going, 1))
        if not some:
            return tuple(found)
        found += some


class Finding(NamedTuple):
    """What an experiment found.

    ``outcome`` is one of its options, or None where it was not measured yet. ``told`` is the text that says
    so, with ``facts`` in it. ``draw`` draws the measure.
    """

    outcome: str | None
    facts: Mapping[str, object]
    draw: Callable[[], None]
    told: str = ""
    table: Mapping[str, list[object]] = {}


class Experiment(ABC):
    """One question. ``edit`` is the sort of edit that belongs to it, ``options`` are the guesses."""

    name: ClassVar[str]
    edit: ClassVar[type[Edit]]
    options: ClassVar[tuple[str, ...]]
    least: ClassVar[int] = 2
    """Tokens that it takes."""

    def choices(self, lab: Lab) -> tuple[str, ...]:
        """The guesses that make sense in this model."""
        return self.options

    def missing(self, lab: Lab) -> str | None:
        """Why it cannot be tried on this model or text: a key of the page's words."""
        return "few_tokens" if len(lab.plain) < self.least else None

    def fits(self, lab: Lab, edit: Edit) -> bool:
        """Whether an edit is one that this experiment asks about, in the stack that is looked at."""
        side = getattr(edit, "side", None) or lab.plain.config.sides[-1]
        return isinstance(edit, self.edit) and side == lab.plain.stack.side

    def controls(self, lab: Lab) -> None:  # noqa: B027
        """What a visitor may choose before."""

    @abstractmethod
    def ask(self, lab: Lab) -> dict[str, object]:
        """For the question: what the run as it is says."""

    @abstractmethod
    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        """The edit that answers it; None where there is nothing to change."""

    @abstractmethod
    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        """What the changed run says."""

    def before(self, lab: Lab) -> None:  # noqa: B027
        """The measure as it is, drawn while the question is open."""


class Measure(Experiment):
    """An experiment about one measure, in the run before and after."""

    is_line: ClassVar[bool] = False

    @abstractmethod
    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        """The measure by place, [N]; not finite where there is none."""

    @abstractmethod
    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> break_it.SeriesView:
        """The measure with the names of its places."""

    @abstractmethod
    def axes(self, lab: Lab) -> tuple[str, str]:
        """What the places and the measure are called."""

    @abstractmethod
    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        """Which option is right, and the numbers that say so."""

    def before(self, lab: Lab) -> None:
        self._draw(lab, self.view(lab, {"before": self.values(lab, lab.plain, None)}, None))

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        series = {"before": self.values(lab, lab.plain, edit), "after": self.values(lab, after, edit)}
        outcome, facts = self.judge(lab, series["before"], series["after"])
        view = self.view(lab, series, edit)
        facts = {**self.ask(lab), **facts}
        return Finding(outcome, facts, lambda: self._draw(lab, view), f"answer_{self.name}_{outcome}", view.table())

    def _draw(self, lab: Lab, view: break_it.SeriesView) -> None:
        (lab.lines if self.is_line else lab.bars)(view, self.axes(lab), f"measure_{self.name}")


def named(layer: int, head: int, lab: Lab) -> str:
    """A head in words."""
    return lab.words("head_name", layer=layer, head=head)


def change_edit(edit: Edit) -> None:
    """The run of the page from now on: with this change alone."""
    state.update(edits=(edit,))


def evenly(items: Sequence[T], most: int) -> list[T]:
    """At most so many items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / (most - 1))] for n in range(most)]
