"""What each position scheme does differently, side by side."""

from __future__ import annotations

import streamlit as st

from viz_model.analysis import position as analysis
from viz_model.ui.stage import Stage

_COLUMNS = ("acts", "trained", "sees", "beyond", "used")


def show(stage: Stage) -> None:
    """One row a scheme, this model's own in bold."""
    present = analysis.scheme_name(stage.lm.config)
    st.subheader(stage.words("schemes", present=stage.words(f"scheme_{present}")), anchor=False)
    head = ["", *(stage.words(f"schemes_{column}") for column in ("added", "turned", "scored", *_COLUMNS[1:]))]
    lines = ["| " + " | ".join(head) + " |", "|---|:-:|:-:|:-:|" + "---|" * (len(_COLUMNS) - 1)]
    for scheme in analysis.SCHEMES:
        facts = analysis.scheme_facts(scheme, stage.lm.config)
        cells = ["●" if place == facts.place else "" for place in analysis.PLACES]
        cells += [f"{facts.n_trained:,}", *(stage.words(f"scheme_{scheme}_{column}") for column in _COLUMNS[2:])]
        name = stage.words(f"scheme_{scheme}")
        if scheme == present:
            name, cells = f"▶ **{name}**", [f"**{cell}**" if cell else "" for cell in cells]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    st.markdown("\n".join(lines))
    st.caption(stage.words("schemes_note"))
