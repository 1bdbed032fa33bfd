"""Small models that were trained with warm-up and without."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.norm_placement import claims
from viz_model.topics.norm_placement.pictures import look, warmup
from viz_model.topics.norm_placement.sections.comparison import Comparison
from viz_model.training import experiments


def warmup_view() -> warmup.WarmupView:
    """The recorded runs with and without warm-up."""
    return warmup.WarmupView.of(experiments.recorded(), experiments.RATE)


def section(shown: Comparison) -> None:
    st.subheader(shown.page.words("part_warmup"), anchor=False)
    elements.see(shown.page, "part_warmup")
    _runs(shown.page, warmup_view())


def _runs(page: Page, view: warmup.WarmupView) -> None:
    """The four runs by step, and all of them by their peak rate."""
    facts = view.facts()
    names = {warms: page.words("with_warmup" if warms else "without_warmup") for warms in (True, False)}
    step, loss, plateau = page.words("step"), page.words("loss"), page.words("plateau")
    elements.see(page, "warmup_runs", **facts)
    figures = {
        "warmup": warmup.draw_warmup(view, "loss", names, step, loss, plateau),
        "warmup_gradient": warmup.draw_warmup(view, "gradient_norm", names, step, page.words("all_gradient"), plateau),
    }
    for column, (name, figure) in zip(st.columns(2, gap="large"), figures.items(), strict=True):
        with column:
            st.markdown(f"#### {page.words(f'{name}_title', **facts)}")
            elements.figure(page, figure, name, page.words(f"{name}_alt"))
            elements.see(page, name, **facts)
            if name == "warmup":
                st.markdown("\n".join(f"- {line}" for line in _ends(page, view)))
    picture, see = elements.split()
    with picture:
        st.markdown(f"#### {page.words('sweep_title', **facts)}")
        elements.figure(
            page, warmup.draw_sweep(view, names, page.words("rate"), loss, plateau), "sweep", page.words("sweep_alt")
        )
    with see:
        elements.see(page, "sweep", **facts)


def _ends(page: Page, view: warmup.WarmupView) -> list[str]:
    """What warm-up does to either place of the norm."""
    lines = []
    for place, name in look.NAMES.items():
        ends = claims.Warmup(*view.losses(place))
        said = {"without": f"{ends.bare:.2f}", "with": f"{ends.warm:.2f}"}
        lines.append(f"**{name}** {claims.WARMUP.says(page.t.language, ends, **said)}")
    return lines
