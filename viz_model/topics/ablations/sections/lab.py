"""The run as it is beside the one that the page shows, what is measured of them, and how it is said."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import streamlit as st

from viz_model.app import elements, run_lock, runs
from viz_model.app.ahead import Dimension
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent
from viz_model.measures import stream
from viz_model.runs.edits import Edit, ShuffleTokens
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import series

AT_ONCE = 2e9
"""Multiplications of several runs that are made unasked: about two seconds on one slow core."""
AT_MOST = 6e10
"""And when a visitor asks for them."""

T = TypeVar("T")

_ALLOWED = "ablations.allowed"
_MEASURES: dict[str, Callable[..., np.ndarray]] = {
    "previous": breaking.previous_shares,
    "future": breaking.future_shares,
    "similarity": stream.stream_similarity,
    "lengths": breaking.lengths_by_depth,
    "row": breaking.mean_row,
}
"""What takes reading all patterns of a run, or all of its stream."""


@dataclass(frozen=True)
class Lab:
    """The page with the run as it is, seen from the stack that is looked at; ``at`` is where its answer is read."""

    page: Page
    plain: Trace
    at: breaking.Place

    @classmethod
    def of(cls, page: Page) -> Lab:
        plain = runs.trace(page.run_key.plain).at(page.trace.stack.side)
        return cls(page, plain, breaking.place(plain, min(page.token, len(plain) - 1)))

    @property
    def side(self) -> Side | None:
        """The stack for an edit; None is the one that the output comes from."""
        side = self.plain.stack.side
        return None if side == self.plain.config.sides[-1] else side

    @property
    def tried(self) -> Edit | None:
        """The view's change, where it has a single one."""
        edits = self.page.trace.edits
        return edits[0] if len(edits) == 1 else None

    @property
    def layer(self) -> int:
        return self.page.view.layer

    @property
    def head(self) -> int:
        return self.page.view.head

    @property
    def token(self) -> int:
        return min(self.page.token, len(self.plain) - 1)

    # In words

    @property
    def words(self) -> Callable[..., str]:
        return self.page.words

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

    def amount(self, cost: breaking.Cost | None) -> str:
        """A changed answer in words: bits, or 1 − cosine."""
        key = "amount_bits" if self.plain.config.has_logits else "amount_turn"
        return self.words(key, amount=f"{breaking.amount(cost):.3f}")

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

    @property
    def enters(self) -> str:
        """Where position enters this model, in words."""
        return self.words(f"enters_{self.plain.config.position.acts_on}")

    @property
    def depths(self) -> list[str]:
        """Names of the depths of the stream: the embedding, then each block."""
        blocks = range(self.plain.n_layers)
        return [self.words("depth_0"), *(self.words("depth", layer=layer) for layer in blocks)]

    # Measured

    def measure(self, name: str, trace: Trace, *args: int) -> np.ndarray:
        """One of the measures of a run."""
        return _measure(runs.RunKey.of(self.page.view.model, trace), trace.stack.side, name, *args)

    def cost(self, after: Trace) -> breaking.Cost:
        return breaking.cost(self.plain, after, self.at)

    def costs(self, tried: Sequence[Edit]) -> tuple[breaking.Cost | None, ...]:
        """What each edit alone does to the answer: a run of the model for each."""
        with st.spinner(self.words("measuring", n=len(tried))):
            return _costs(*self._key, tuple(tried))

    def reordered(self, shuffle: ShuffleTokens) -> tuple[float, ...]:
        """How far shuffled outputs are from reordered ones, under each condition."""
        with st.spinner(self.words("measuring", n=2 * len(breaking.CONDITIONS))):
            return _reordered(*self._key, shuffle)

    def patches(self, other: str, depths: Sequence[int], positions: Sequence[int]) -> np.ndarray:
        """How far each vector of another text moves the answer, [depths, positions]."""
        with st.spinner(self.words("measuring", n=len(depths) * len(positions))):
            return np.array(_patches(*self._key, other, tuple(depths), tuple(positions)))

    def neighbour(self, position: int) -> str | None:
        """The text with another word at a position."""
        return _neighbour(*self._key[:2], position)

    @property
    def _key(self) -> tuple[runs.RunKey, Side, breaking.Place]:
        return self.page.run_key.plain, self.plain.stack.side, self.at

    # Many runs are only made when a visitor asks for them

    @functools.cached_property
    def _work(self) -> int:
        """Multiplications of one run, about."""
        n_tokens = len(self.plain.ids) + len(self.plain.target_ids or ())
        return sum(parameter.numel() for parameter in self.plain.model.parameters()) * n_tokens

    def affordable(self, n: int) -> int:
        """How many of ``n`` runs are made when asked, at least 8."""
        return min(n, max(8, int(AT_MOST / self._work)))

    def may(self, key: Hashable, n: int) -> bool:
        """Whether ``n`` runs may be made now."""
        return n * self._work <= AT_ONCE or (self._key, key) in st.session_state.get(_ALLOWED, ())

    def allow(self, key: Hashable) -> None:
        """The visitor asks for them."""
        st.session_state.setdefault(_ALLOWED, set()).add((self._key, key))

    # Drawn

    def draw(
        self,
        view: series.SeriesView | Callable[[Lab], series.SeriesView],
        axes: tuple[str, str],
        key: str,
        *,
        lines: bool = False,
        by: Sequence[Dimension] = (),
    ) -> None:
        """A measure by place; ``axes`` are what the places and the measure are called.

        A view that is given as it is belongs to this selection alone; a function makes the one of any, ``by`` what
        makes a difference to it.
        """

        def drawn(page: Page) -> Sheet:
            made = view(Lab.of(page)) if callable(view) else view
            names = {name: self.words(f"series_{name}") for name in made.series}
            return (series.draw_lines if lines else series.draw_bars)(made, names, axes)

        elements.figure(self.page, drawn, key, self.words("measure_alt", measure=axes[1]), by=by)


@cached()
def _measure(run: runs.RunKey, side: Side, name: str, *args: int) -> np.ndarray:
    return _MEASURES[name](runs.trace(run).at(side), *args)


# Each run waits for its own turn, so that other visitors' runs come in between.


@cached(beside=True)
def _costs(
    run: runs.RunKey, side: Side, at: breaking.Place, tried: tuple[Edit, ...]
) -> tuple[breaking.Cost | None, ...]:
    return _in_turns(breaking.costs(runs.trace(run).at(side), tried, at))


@cached(beside=True)
def _reordered(run: runs.RunKey, side: Side, at: breaking.Place, shuffle: ShuffleTokens) -> tuple[float, ...]:
    plain = runs.trace(run).at(side)
    return _in_turns(breaking.reordered(plain, shuffle, condition) for condition in breaking.CONDITIONS)


@cached(beside=True)
def _patches(
    run: runs.RunKey, side: Side, at: breaking.Place, other: str, depths: tuple[int, ...], positions: tuple[int, ...]
) -> tuple[tuple[float, ...], ...]:
    plain, source = (runs.trace(key).at(side) for key in (run, run._replace(text=other)))
    return _in_turns(breaking.patches(plain, source, depths, positions, at))


@cached()
def _neighbour(run: runs.RunKey, side: Side, position: int) -> str | None:
    return breaking.neighbour(runs.trace(run).at(side), position)


def _in_turns(steps: Iterator[T]) -> tuple[T, ...]:
    found: list[T] = []
    while True:
        with run_lock.RUNNING:
            some = list(itertools.islice(steps, 1))
        if not some:
            return tuple(found)
        found += some
