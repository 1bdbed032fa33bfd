"""Numbers of a run worked out in prose: each with its calculation, done again from what it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from viz_model.app.cell_names import written
from viz_model.app.derivation import lines, painted
from viz_model.app.page import Page
from viz_model.runs.derivation import derive

TERMS = 3
"""Terms of a sum that are written out, with the factors of each."""


class Worked(NamedTuple):
    """One number: the full keys of the prose that stands before it, its site in the page's view, and where in it."""

    words: tuple[str, ...]
    site: str
    at: tuple[int, ...]


def worked(page: Page, numbers: Sequence[Worked], /, **values: object) -> None:
    """The numbers in order, each redone in double precision (:func:`viz_model.runs.derivation.derive`).

    ``values`` fill the places of the prose.
    """
    for n, number in enumerate(numbers, start=1):
        found = derive(page.trace, number.site, number.at)
        prose = " ".join(page.t.prose(key, **values) for key in number.words)
        steps = [painted(step, page.trace, found.role if step is found.steps[-1] else None) for step in found.steps]
        end = "end_wrong" if not found.agrees else "end_exact" if found.difference == 0 else "end"
        facts = {name: written(getattr(found, name), 5) for name in ("result", "value")}
        said = page.t(f"derivation.{end}", difference=written(found.difference, 1), **facts)
        st.markdown("\n\n".join([f"**{n}.** {prose}", *(f"$$\n{lines(step, TERMS)}\n$$" for step in steps), said]))
