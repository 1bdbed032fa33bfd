"""All terms of a sum, where only the largest are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import viz_model as vm
from viz_model.app.cell_names import place
from viz_model.model import sites
from viz_model.runs.derivation import Cell, Step, Terms
from viz_model.texts import Texts

LARGEST = 4
"""Terms that are written out, in the drawer and on pages; the others are added up, and all listed for who asks."""
MOST_ROWS = 1_000
"""Rows of that list; its file has all of them."""


def every_term(where: str, n: int, step: Step, here: Cell, trace: vm.Trace, t: Texts) -> None:
    """All terms of a sum that has more than are written out, one click away: with the numbers that make each.

    Args:
        where: the beginning of the widgets' keys.
        n: the number of the step in the derivation of ``here``.
    """
    if step.terms is None or len(step.terms) <= LARGEST:
        return
    if st.toggle(t("derivation.all_terms", n=f"{len(step.terms):,}"), key=f"{where}.all.{here}.{n}"):
        _table(where, n, step.terms, here, trace, t)


def place_of(terms: Terms, n: int, trace: vm.Trace) -> str:
    """The text behind term ``n``, where a sum runs over tokens or words; else nothing."""
    line = terms.factors[0].line if terms.factors else None
    if line is None or line.kind is not Cell or len(line.along) != 1:
        return ""
    (along,) = line.along
    return place(trace, sites.find(line.name, trace.config).index[along], line.at(n).index[along])


def _table(where: str, n: int, terms: Terms, here: Cell, trace: vm.Trace, t: Texts) -> None:
    def cells(count: int) -> pd.DataFrame:
        columns: dict[str, Any] = {t("derivation.table_term"): np.arange(count)}
        places = [place_of(terms, i, trace) for i in range(count)]
        columns |= {t("derivation.table_place"): places} if any(places) else {}
        columns |= {str(factor.line.at(0)): factor.values[:count] for factor in terms.factors}
        return pd.DataFrame({**columns, "=": terms.values[:count]})

    shown = min(len(terms), MOST_ROWS)
    st.dataframe(cells(shown), hide_index=True, height=min(320, 38 + 35 * shown), key=f"{where}.table.{here}.{n}")
    if shown < len(terms):
        st.caption(t("derivation.some_terms", n=f"{shown:,}", total=f"{len(terms):,}"))
    st.download_button(
        t("common.download", site=str(here)),
        data=lambda: cells(len(terms)).to_csv(index=False),
        file_name=f"{here}.step{n + 1}.csv",
        mime="text/csv",
        key=f"{where}.csv.{here}.{n}",
        on_click="ignore",
        icon=":material/download:",
    )
