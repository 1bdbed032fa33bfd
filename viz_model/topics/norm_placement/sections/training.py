"""How the twins were trained, from the logs beside their weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.topics.norm_placement import claims
from viz_model.topics.norm_placement.pictures import training
from viz_model.topics.norm_placement.sections.comparison import Comparison, finding
from viz_model.training import log


@cached(beside=True)
def training_log(name: str) -> list[dict[str, Any]]:
    """The log that lies beside a model's weights; empty where none does."""
    path = runs.model(name).folder / "log.jsonl"
    return log.read(path) if path.exists() else []


@cached(beside=True)
def figures_by_source(name: str) -> dict[str, dict[str, float]]:
    """Bits per byte of held-out text and of text trained on, by source; empty where no file beside the weights says.

    As :func:`viz_model.training.publish.by_source` measured them.
    """
    path = runs.model(name).folder / "figures.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: dict[str, dict[str, float]] = known.get("by_source", {})
    return found


def section(shown: Comparison) -> None:
    logs = {place: training_log(key.model) for place, key in shown.keys.items()}
    if not shown.alone and all(logs.values()):
        st.subheader(shown.page.words("part_training"), anchor=False)
        elements.see(shown.page, "part_training")
        _curves(shown, training.CurvesView.of(logs))


def _curves(shown: Comparison, curves: training.CurvesView) -> None:
    """The loss, the held-out figures, those by source, and the gradients of the blocks."""
    page = shown.page
    facts, step = curves.facts(), page.words("step")
    if curves.languages:
        ahead = {language: curves.last(language) for language in curves.languages}
        says = {
            f"{language}_ahead": claims.AHEAD.says(
                page.t.language, claims.Bits(*bits), pre=f"{bits[0]:.3f}", post=f"{bits[1]:.3f}"
            )
            for language, bits in ahead.items()
        }
        elements.see(page, "difference", **says)
    left, right = st.columns(2, gap="large")
    figure = training.draw_loss(curves, step, page.words("loss"), page.words("rate_at_step"))
    finding(shown, left, "loss", figure, facts)
    if curves.climb:
        with left:
            elements.see(page, "rounds", **facts)
    if curves.languages:
        languages = {each: page.words(f"held_out_{each}") for each in ("en", "zh")}
        figure = training.draw_held_out(curves, languages, step, page.words("bits_per_byte"))
        finding(shown, right, "held_out", figure, facts)
    by_source = {place: figures_by_source(key.model) for place, key in shown.keys.items()}
    if all(by_source.values()):
        view = training.SourcesView.of(by_source)
        labels = {file: page.words(f"source_{Path(file).stem}") for file in view.sources}
        ends = {which: page.words(f"sources_{which}") for which in ("held_out", "seen")}
        figure = training.draw_sources(view, labels, ends, page.words("bits_per_byte"))
        costs = claims.BY_HEART.says(page.t.language, view.more, **view.facts())
        finding(shown, st.container(), "sources", figure, {**view.facts(), "costs": costs})
    if curves.blocks:
        figure = training.draw_block_gradients(curves, page.words("block"), step, page.words("block_gradient"))
        finding(shown, st.container(), "block_gradients", figure, facts)
