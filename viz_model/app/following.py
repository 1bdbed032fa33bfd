"""What is said of a page's selection as the browser holds it: of what is looked at, and of what one click leads to.

Streamlit draws what is said now. What it would say of another layer, head or token the browser writes in its place in
the frame of the click, as the pictures do, until Streamlit has drawn it. Pictures: :mod:`viz_model.app.pictures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import streamlit as st

from viz_model.app import ahead, components
from viz_model.app.ahead import Dimension
from viz_model.app.page import Page
from viz_model.drawing.scene import Case, framed

Said: TypeAlias = list[Any] | None
"""Of one selection what stands in a place, in order, as JSON; None where only Streamlit can write it."""

MOST_BYTES = 140_000
"""Of all that is said; beyond it the selections that are farthest are left out."""

_KEPT, _KEY = "following.kept", "frame_prose"


@dataclass(frozen=True)
class _Kept:
    """What is said in one place of the page.

    Attributes:
        of: what it is said of besides the selection.
        by: what makes a difference to it.
        cases: by selection, the nearest to the present one first.
        around: the selection whose neighbours are among them.
    """

    of: tuple[Any, ...]
    by: tuple[Dimension, ...]
    cases: Mapping[Case, Said]
    around: Case | None


def keep(page: Page, key: str, by: tuple[Dimension, ...], here: Said, say: Callable[[Page], Said]) -> None:
    """Have the browser hold what is said in a place.

    Args:
        key: of the container in which Streamlit draws it.
        here: what is said of the page.
        say: what is said of any.
    """
    kept: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    place, same = ahead.place(page, by), ahead.besides(page)
    known = kept.get(key)
    if known is None or known.of != same:
        known = _Kept(same, by, {}, None)
    held, around = known.cases, known.around
    if ahead.is_now() and by:
        neighbours = {case: held[case] if case in held else say(there) for case, there in ahead.pages(page, by)}
        cases, around = {place: here, **neighbours}, place
    else:
        cases = {**held, place: here}  # in the same order, or the browser would be sent the same again
        is_whole = around == place or all(case in cases for case in ahead.neighbours(page, by, place))
        ahead.want(bool(by) and not is_whole)
    kept[key] = _Kept(same, by, cases, around)


def send(page: Page) -> None:
    """Hand the browser all that is said on a page; after all of it."""
    kept: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    same = ahead.besides(page)
    for stale in [key for key, place in kept.items() if place.of[:2] != same[:2]]:
        del kept[stale]  # of another page, or another run
    share, data = 1.0, _data(kept, 1.0)
    most = max((len(place.cases) for place in kept.values()), default=0)
    while len(data) > MOST_BYTES and share * most > 1:
        share *= 0.9 * MOST_BYTES / len(data)
        data = _data(kept, share)
    components.prose(data, key=_KEY)


def _data(kept: Mapping[str, _Kept], share: float) -> bytes:
    """Of each place a ``share`` of its selections, each a list of numbers: where in ``said`` it stands, once."""
    known: dict[str, int] = {}
    said: list[Any] = []

    def place_of(one: Any) -> int:
        name = repr(one)
        if name not in known:
            known[name] = len(said)
            said.append(one)
        return known[name]

    places = {}
    for key, place in kept.items():
        cases = list(place.cases.items())[: max(1, int(len(place.cases) * share))]
        written = {",".join(map(str, case)): list(map(place_of, said)) for case, said in cases if said is not None}
        places[key] = {"by": list(place.by), "cases": written}
    return framed({"kind": "prose", "places": places, "said": said})
