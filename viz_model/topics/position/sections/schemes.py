"""What each position scheme does differently, side by side."""

from __future__ import annotations

import streamlit as st

from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis

_SAID = ("sees", "beyond", "used")


def show(stage: Stage) -> None:
    """One row a scheme, this model's own in bold."""
    present = analysis.scheme_name(stage.lm.config)
    st.subheader(stage.words("schemes", present=stage.words(f"scheme_{present}")), anchor=False)
    head = ["", *(stage.words(f"schemes_{column}") for column in ("place", "trained", *_SAID))]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for scheme in analysis.SCHEMES:
        facts = analysis.scheme_facts(scheme, stage.lm.config)
        cells = [stage.words(f"scheme_{scheme}"), stage.words(f"place_{facts.place}"), f"{facts.n_trained:,}"]
        cells += [stage.words(f"scheme_{scheme}_{column}") for column in _SAID]
        if scheme == present:
            cells = [f"**{cell}**" for cell in cells]
            cells[0] = f"▶\u00a0{cells[0]}"
        lines.append("| " + " | ".join(cells) + " |")
    st.markdown("\n".join(lines))
    st.caption(stage.words("schemes_note"))
