"""Numbers of a run worked out in prose: each with its calculation, done again from what it was made of."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz_model.app.cell_names import written
from viz_model.app.derivation import lines, painted
from viz_model.app.every_term import LARGEST, every_term
from viz_model.app.page import Page
from viz_model.island.page import Worked
from viz_model.runs.derivation import derive
from viz_model.texts.markdown import literal


def worked(page: Page, numbers: Sequence[Worked], /, **values: object) -> None:
    """The numbers in order, each redone in double precision as the drawer does it (:mod:`viz_model.app.derivation`).

    ``values`` fill the places of the prose. A number without prose is introduced by its name.
    """
    for n, number in enumerate(numbers, start=1):
        trace = page.trace if number.trace is None else number.trace
        found = derive(trace, number.site, number.at)
        prose = number.said or " ".join(page.t.prose(key, **values) for key in number.words)
        prose = prose or f"{page.t.site_label(trace.site(number.site))} {literal(str(found.cell))}"
        said = [f"**{n}.** {prose}"]
        for k, step in enumerate(found.steps):
            shown = painted(step, trace, found.role if step is found.steps[-1] else None)
            said.append(f"$$\n{lines(shown, factors=True)}\n$$")
            if shown.terms is not None and len(shown.terms) > LARGEST:
                st.markdown("\n\n".join(said))
                every_term(page.text_key, k, shown, found.cell, trace, page.t)
                said = []
        end = "end_wrong" if not found.agrees else "end_exact" if found.difference == 0 else "end"
        facts = {name: written(getattr(found, name), 5) for name in ("result", "value")}
        said.append(page.t(f"derivation.{end}", difference=written(found.difference, 1), **facts))
        st.markdown("\n\n".join(said))
