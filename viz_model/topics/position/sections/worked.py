"""By hand: how single numbers of this run were made, step by step, as their declarations have it."""

from __future__ import annotations

import streamlit as st

from viz_model.app import derivation
from viz_model.app.cell_names import written
from viz_model.app.every_term import LARGEST, every_term
from viz_model.app.page import Page
from viz_model.runs.derivation import Derivation, Step, derive


def worked(page: Page, *cells: tuple[str, tuple[int, ...]]) -> None:
    """One number after the other, each a site with its index."""
    for name, index in cells:
        found = derive(page.trace, name, index)
        st.markdown(f"**{page.t.site_label(page.trace.site(name))}** `{found.cell}`")
        for n, step in enumerate(found.steps):
            _step(page, found, n, step)
        st.markdown(page.words("hand_recorded", value=written(found.value, 5), result=written(found.result, 5)))


def _step(page: Page, found: Derivation, n: int, step: Step) -> None:
    role = found.role if n == len(found.steps) - 1 else None
    st.markdown(f"**{n + 1}.** {derivation.what(step, page.t)}")
    st.latex(derivation.lines(derivation.painted(step, page.trace, role)))
    if step.terms is None:
        return
    top, lines = step.terms.largest(LARGEST), ""
    for at, value in zip(top.which, top.values, strict=True):
        factors = r" \cdot ".join(_number(factor.value) for factor in step.terms.term(at))
        lines += rf"{step.terms.variable} = {at}: \quad & {factors} = {_number(value)} \\ "
    st.latex(rf"\begin{{aligned}} {lines} \end{{aligned}}")
    if top.n_rest:
        st.caption(page.t("derivation.rest", n=top.n_rest, value=written(top.rest)))
    every_term(page.text_key, n, step, found.cell, page.trace, page.t)


def _number(value: float) -> str:
    return f"{value:.4g}" if value >= 0 else f"({value:.4g})"
