"""The pictures of a page as the browser holds them: of what is looked at, and of what one click leads to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from viz_model.app import ahead
from viz_model.app.ahead import Dimension
from viz_model.app.page import Page
from viz_model.drawing.scene import Case, Merged, Scene, merged

_KEPT = "pictures.kept"


@dataclass(frozen=True)
class _Kept:
    """A picture that the browser has.

    Attributes:
        of: what it is of besides the selection.
        present: the selection that it is exact for, whatever it is of others.
        around: the selection whose neighbours it holds.
        nowhere: selections that it has no place at.
    """

    of: tuple[Any, ...]
    merged: Merged
    present: Case
    around: Case | None
    nowhere: frozenset[Case]

    def is_exact(self, here: Case) -> bool:
        """Whether it shows a selection as the page does."""
        return self.merged.is_exact or here == self.present

    def is_whole(self, page: Page, by: tuple[Dimension, ...], here: Case) -> bool:
        """Whether the next click from a selection finds all that it may lead to."""
        if self.around == here:
            return True
        held = self.merged.cases | self.nowhere
        return self.merged.is_exact and all(case in held for case in ahead.neighbours(page, by, here))


def of(page: Page, draw: Callable[[Page], Scene | None], key: str, by: tuple[Dimension, ...]) -> bytes:
    """A picture of a page as the browser reads it.

    Args:
        draw: the scene for the selection of the page that it is given; None where the picture has no place there,
            which is not so for the present one.
        by: what makes a difference to it.
    """
    kept: dict[str, _Kept] = st.session_state.setdefault(_KEPT, {})
    here, same = ahead.place(page, by), ahead.besides(page)
    for stale in [name for name, picture in kept.items() if picture.of[:2] != same[:2]]:
        del kept[stale]  # of another page, or another run
    known = kept.get(key)
    draws = bool(by) and ahead.is_now()
    if known is not None and known.of == same and by and here in known.merged.cases:
        is_whole = known.is_whole(page, by, here)
        # Who rests sees exact numbers, even where no time is left for neighbours.
        is_late = ahead.is_its_turn() and not known.is_exact(here)
        if is_whole or not (draws or is_late):
            ahead.want(not is_whole)
            return known.merged.data
    own = draw(page)
    assert own is not None
    scenes, nowhere = {here: own}, set[Case]()
    if draws:
        for case, there in ahead.pages(page, by):
            scene = draw(there)
            if scene is None:
                nowhere.add(case)
            else:
                scenes[case] = scene
    kept[key] = _Kept(same, merged(by, scenes, here), here, here if draws else None, frozenset(nowhere))
    ahead.want(bool(by) and not draws)
    return kept[key].merged.data
