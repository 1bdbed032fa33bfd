"""Formulas of values, from the registry."""

from __future__ import annotations

import streamlit as st

from viz_model.app.page import Page
from viz_model.app.texts import literal


def formula(page: Page, *names: str) -> None:
    """The formulas of sites, each with this run's sizes: one table, which is drawn at once."""
    if not names:
        return
    head = [page.t(f"common.formula_{column}") for column in ("value", "formula", "shape")]
    lines = [f"| {' | '.join(head)} |", "|:-|:-|:-|"]
    for name in names:
        site = page.trace.site(name)
        sizes = " × ".join(
            f"{axis} {size}" if axis != "1" else "1" for axis, size in zip(site.axes, shape(page, name), strict=True)
        )
        value = f"**{page.t.site_label(site)}** {literal(page.trace.full_name(name))}"
        lines.append(f"| {value} | $\\displaystyle {site.formula}$ | {sizes} |")
    with st.container(key=f"{page.text_key}.formula.{names[0]}"):
        st.markdown("\n".join(lines))


def shape(page: Page, name: str) -> tuple[int, ...]:
    """The shape of a site in this run; of cross-attention the keys are the source's."""
    n_keys = len(page.trace.ids) if ".cross." in name else None
    return page.trace.site(name).shape(len(page.trace), n_keys)
