"""What one click leads to: other layers and heads, other tokens; and when there is time to draw it.

A page is first drawn for the layer, head and token that are looked at. Then, when the visitor rests, its pictures
and what is said beside them are made for every neighbour too: every other head and layer, every other token. So a
click is answered by the browser alone, with what the server would have said; later the new neighbours follow.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

import streamlit as st

from viz_model.app import run_lock, state
from viz_model.app.page import Page
from viz_model.drawing.scene import Case

Dimension: TypeAlias = Literal["layer", "head", "token"]
DIMENSIONS: tuple[Dimension, ...] = ("layer", "head", "token")

MOST_HEADS, MOST_TOKENS = 64, 48
"""Pairs of layer and head, and tokens, that a picture is drawn for ahead; beyond that the nearest along each."""

MOST_SECONDS, MOST_SECONDS_OF_PAGE = 1.0, 5.0
"""Of a processor, that the neighbours of a picture, and of all that is on a page, take at the most.

What is left out is drawn when it is asked for. Others wait for the same processors. Half of a page's time is shared by
its parts alike, so that of each the nearest are there; the rest is for whoever comes first.
"""

_ASKED, _IS_NOW, _UNTIL = "ahead.asked", "ahead.is_now", "ahead.until"
_LACKING, _LEFT, _SHARE = "ahead.lacking", "ahead.left", "ahead.share"
"""How many parts of the page lack neighbours; to how many of those the run that draws them has still to come, and the
seconds that each of them has in any case."""

_MADE = "ahead.made"

T = TypeVar("T")


def begin() -> None:
    """Before a page is drawn.

    Neighbours are drawn by the run that was asked to: where it ended early, whoever ended it waits for something else.
    """
    is_now, until = st.session_state.pop(_ASKED, False), time.thread_time() + MOST_SECONDS_OF_PAGE
    left = max(1, st.session_state.get(_LACKING, 0))
    st.session_state.update({_IS_NOW: is_now, _UNTIL: until, _MADE: {} if is_now else None})
    st.session_state.update({_LACKING: 0, _LEFT: left, _SHARE: MOST_SECONDS_OF_PAGE / 2 / left})


def end() -> bool:
    """After it: whether neighbours of something are lacking."""
    st.session_state.update({_IS_NOW: False, _MADE: None})
    return st.session_state.get(_LACKING, 0) > 0


def ask() -> None:
    """Have the next run of the page draw the neighbours."""
    st.session_state[_ASKED] = True


def is_its_turn() -> bool:
    """Whether this run draws them, be there time left or not."""
    return bool(st.session_state.get(_IS_NOW))


def is_now() -> bool:
    """Whether this run draws them, and has time to."""
    return is_its_turn() and time.thread_time() < st.session_state[_UNTIL]


def once(make: Callable[..., T], *of: Hashable) -> T:
    """What ``make`` gives for ``of``: made once for all parts of a page while the neighbours are drawn."""
    made: dict[tuple[Hashable, ...], T] | None = st.session_state.get(_MADE)
    if made is None:
        return make(*of)
    if (make, *of) not in made:
        made[make, *of] = make(*of)
    return made[make, *of]


def want(more: bool) -> None:
    """Whether something that was drawn lacks neighbours; a run that draws them leaves out what it has no time for."""
    if more and not is_its_turn():
        st.session_state[_LACKING] = st.session_state.get(_LACKING, 0) + 1


def place(page: Page, by: tuple[Dimension, ...]) -> Case:
    """What is looked at."""
    return tuple(_index(page, name) for name in by)


def besides(page: Page) -> tuple[Any, ...]:
    """What a page is drawn from besides the layer, head and token: its run and its name first."""
    others = tuple(sorted(state.current().choices.items()))  # a part that runs alone has the page of before
    return page.run_key, page.name, page.trace.side, page.t.language, others, page.view.present


def pages(page: Page, by: tuple[Dimension, ...]) -> Iterator[tuple[Case, Page]]:
    """The neighbours, each with the page as it is there; as many as there is time for."""
    now, until, share = time.thread_time(), st.session_state[_UNTIL], st.session_state[_SHARE]
    others = st.session_state[_LEFT] = max(0, st.session_state[_LEFT] - 1)
    end = min(now + MOST_SECONDS, max(now + share, until - others * share), until)
    for case in neighbours(page, by, place(page, by)):
        if time.thread_time() > end:
            return
        run_lock.check()  # who clicks in the meantime waits for none of the rest
        yield case, _at(page, by, case)


def neighbours(page: Page, by: tuple[Dimension, ...], here: Case) -> Iterator[Case]:
    """Selections that differ from this one in the token, or in layer and head; those in one dimension first.

    The nearest come first, whichever dimension they differ in: time or room may end before all of them.
    """
    sizes: dict[Dimension, int] = {
        "layer": page.trace.n_layers,
        "head": page.lm.config.n_heads,
        "token": len(page.trace),
    }
    now: dict[str, int] = dict(zip(by, here, strict=True))
    heads: list[Dimension] = [name for name in by if name != "token"]
    seen = {here}

    def case(**changed: int) -> Iterator[Case]:
        found = tuple({**now, **changed}[name] for name in by)
        if found not in seen:
            seen.add(found)
            yield found

    names: list[Dimension] = [*reversed(heads), *(name for name in by if name == "token")]
    every = [
        (abs(n - now[name]), turn, n)
        for turn, name in enumerate(names)
        for n in _nearest(now[name], sizes[name], MOST_TOKENS if name == "token" else MOST_HEADS // 2)
    ]
    for _, turn, n in sorted(every):
        yield from case(**{names[turn]: n})
    if len(heads) == 2 and sizes["layer"] * sizes["head"] <= MOST_HEADS:
        for layer, head in itertools.product(range(sizes["layer"]), range(sizes["head"])):
            yield from case(layer=layer, head=head)


def _nearest(here: int, size: int, most: int) -> list[int]:
    return sorted(range(size), key=lambda n: (abs(n - here), n))[: most + 1]


def _index(page: Page, name: Dimension) -> int:
    return page.token if name == "token" else page.view.layer if name == "layer" else page.view.head


def _at(page: Page, by: tuple[Dimension, ...], case: Case) -> Page:
    """The page as it is where something else is looked at."""
    chosen: dict[str, Any] = dict(zip(by, case, strict=True))
    token = chosen.pop("token", page.token)
    return dataclasses.replace(page, token=token, view=dataclasses.replace(page.view, token=token, **chosen))
