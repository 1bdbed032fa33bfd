"""Small models that were trained with warm-up and without."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.topics.norm_placement.pictures import norm_lab
from viz_model.topics.norm_placement.sections.comparison import Comparison, heading
from viz_model.training import experiments


def warmup_view() -> norm_lab.WarmupView:
    """The recorded runs with and without warm-up."""
    return norm_lab.WarmupView.of(experiments.recorded(), experiments.RATE)


def section(shown: Comparison) -> None:
    page, view = shown.page, warmup_view()
    facts = {key: page.words(value) if key.endswith("_word") else value for key, value in view.facts().items()}
    names = {warms: page.words("with_warmup" if warms else "without_warmup") for warms in (True, False)}
    step, loss, plateau = page.words("step"), page.words("loss"), page.words("plateau")
    heading(page, "warmup")
    elements.see(page, "warmup_runs", **facts)
    figures = {
        "warmup": norm_lab.draw_warmup(view, "loss", names, step, loss, plateau),
        "warmup_gradient": norm_lab.draw_warmup(
            view, "gradient_norm", names, step, page.words("all_gradient"), plateau
        ),
    }
    for column, (name, figure) in zip(st.columns(2, gap="large"), figures.items(), strict=True):
        with column:
            st.markdown(f"#### {page.words(f'{name}_title', **facts)}")
            elements.figure(page, figure, name, page.words(f"{name}_alt"))
            elements.see(page, name, **facts)
    picture, see = elements.split()
    with picture:
        st.markdown(f"#### {page.words('sweep_title', **facts)}")
        elements.figure(
            page, norm_lab.draw_sweep(view, names, page.words("rate"), loss, plateau), "sweep", page.words("sweep_alt")
        )
    with see:
        elements.see(page, "sweep", **facts)
