"""Which selections of a page's pictures the browser is sent: those that one click leads to.

A page is first drawn for the layer, head and token that are looked at. Then, when the visitor rests, its
pictures are drawn for every neighbour too: every other head and layer, every other token. So a click is answered by
the browser alone, with what the server would have drawn; texts follow, and later the new neighbours.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import streamlit as st

from viz_model.app import run_lock, state
from viz_model.app.page import Page
from viz_model.drawing.scene import Case, Merged, Scene, merged

Dimension: TypeAlias = Literal["layer", "head", "token"]
DIMENSIONS: tuple[Dimension, ...] = ("layer", "head", "token")

MOST_HEADS, MOST_TOKENS = 64, 48
"""Pairs of layer and head, and tokens, that a picture is drawn for ahead; beyond that the nearest along each."""

MOST_SECONDS = 1.0
"""That a picture's neighbours take on the server at the most: what is left out is drawn when it is asked for."""

_KEPT, _AHEAD, _IS_AHEAD, _WANTED = "pictures.kept", "pictures.ahead", "pictures.is_ahead", "pictures.wanted"


@dataclass(frozen=True)
class _Kept:
    """A picture that the browser has.

    Attributes:
        of: what it is of besides the selection.
        around: the selection whose neighbours it holds.
        nowhere: selections that it has no place at.
    """

    of: tuple[Any, ...]
    merged: Merged
    around: Case | None
    nowhere: frozenset[Case]

    def is_whole(self, page: Page, by: tuple[Dimension, ...], here: Case) -> bool:
        """Whether the next click from a selection finds all that it may lead to."""
        if self.around == here:
            return True
        held = self.merged.cases | self.nowhere
        return self.merged.is_exact and all(case in held for case in _neighbours(page, by, here))


def of(page: Page, draw: Callable[[Page], Scene | None], key: str, by: tuple[Dimension, ...]) -> bytes:
    """A picture of a page as the browser reads it.

    Args:
        draw: the scene for the selection of the page that it is given; None where the picture has no place there,
            which is not so for the present one.
        by: what makes a difference to it.
    """
    kept: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    here = tuple(_index(page, name) for name in by)
    others = tuple(sorted(state.current().choices.items()))  # a part that runs alone has the page of before
    same = (page.run_key, page.name, page.trace.side, page.t.language, others, page.view.present)
    for stale in [name for name, picture in kept.items() if picture.of[:2] != same[:2]]:
        del kept[stale]  # of another page, or another run
    known = kept.get(key)
    ahead = bool(by) and is_ahead()
    if known is not None and known.of == same and by and here in known.merged.cases:
        is_whole = known.is_whole(page, by, here)
        if is_whole or not ahead:
            _want(not is_whole)
            return known.merged.data
    own = draw(page)
    assert own is not None
    scenes, nowhere = {here: own}, set[Case]()
    if ahead:
        end = time.monotonic() + MOST_SECONDS
        for case in _neighbours(page, by, here):
            if time.monotonic() > end:
                break
            run_lock.check()  # who clicks in the meantime waits for none of the rest
            scene = draw(_at(page, by, case))
            if scene is None:
                nowhere.add(case)
            else:
                scenes[case] = scene
    kept[key] = _Kept(same, merged(by, scenes, here), here if ahead else None, frozenset(nowhere))
    _want(bool(by) and not ahead)
    return kept[key].merged.data


def begin() -> None:
    """Before the pictures of a page are drawn.

    Neighbours are drawn by the run that was asked to: where it ended early, whoever ended it waits for something else.
    """
    st.session_state.update({_WANTED: False, _IS_AHEAD: st.session_state.pop(_AHEAD, False)})


def end() -> bool:
    """After them: whether some lack neighbours."""
    st.session_state[_IS_AHEAD] = False
    return bool(st.session_state.get(_WANTED))


def draw_ahead() -> None:
    """Have the next run of the page draw the neighbours."""
    st.session_state[_AHEAD] = True


def is_ahead() -> bool:
    """Whether this run draws them."""
    return bool(st.session_state.get(_IS_AHEAD))


def _want(more: bool) -> None:
    st.session_state[_WANTED] = more or bool(st.session_state.get(_WANTED))


def _index(page: Page, name: Dimension) -> int:
    return page.token if name == "token" else page.view.layer if name == "layer" else page.view.head


def _at(page: Page, by: tuple[Dimension, ...], case: Case) -> Page:
    """The page as it is where something else is looked at."""
    chosen: dict[str, Any] = dict(zip(by, case, strict=True))
    token = chosen.pop("token", page.token)
    return dataclasses.replace(page, token=token, view=dataclasses.replace(page.view, token=token, **chosen))


def _neighbours(page: Page, by: tuple[Dimension, ...], here: Case) -> Iterator[Case]:
    """Selections that differ from this one in the token, or in layer and head; those in one dimension first."""
    sizes: dict[Dimension, int] = {
        "layer": page.trace.n_layers,
        "head": page.lm.config.n_heads,
        "token": len(page.trace),
    }
    place: dict[str, int] = dict(zip(by, here, strict=True))
    heads = [name for name in by if name != "token"]
    seen = {here}

    def case(**changed: int) -> Iterator[Case]:
        found = tuple({**place, **changed}[name] for name in by)
        if found not in seen:
            seen.add(found)
            yield found

    for name in reversed(heads):
        for n in _nearest(place[name], sizes[name], MOST_HEADS // 2):
            yield from case(**{name: n})
    if "token" in by:
        for n in _nearest(place["token"], sizes["token"], MOST_TOKENS):
            yield from case(token=n)
    if len(heads) == 2 and sizes["layer"] * sizes["head"] <= MOST_HEADS:
        for layer, head in itertools.product(range(sizes["layer"]), range(sizes["head"])):
            yield from case(layer=layer, head=head)


def _nearest(here: int, size: int, most: int) -> list[int]:
    return sorted(range(size), key=lambda n: (abs(n - here), n))[: most + 1]
