"""The page on the place of the norm: its experiments are shown beside every kind of model, and say what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import streamlit as st
from app_driver import offer, open_page, pictures, plots, said
from doors import all_open
from tiny_models import describe, language_model, mixed_norms, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.topics.norm_placement import fresh
from viz_model.topics.norm_placement.last_norm import last_norm
from viz_model.topics.norm_placement.readings import readings
from viz_model.training import experiments

pytestmark = pytest.mark.full

TEXT = "the cat and the dog ran"
MODELS = [dataclasses.replace(config, n_vocab=8192, n_context=32) for config in [*variants()[::13], mixed_norms()[0]]]


@pytest.fixture(autouse=True)
def few_fresh_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two depths in place of eight."""
    measured = fresh.gradients_by_depth(depths=(1, 2), seeds=2)
    monkeypatch.setattr(fresh, "gradients_by_depth", lambda: measured)
    yield
    st.cache_resource.clear()


@pytest.mark.parametrize("config", MODELS, ids=describe)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_experiments_stand_beside_every_kind(
    config: ModelConfig, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, {"tiny": language_model(config)})
    target = {"target": "a cat"} if config.kind == "encoder_decoder" else {}
    app = open_page(
        "norm_placement", {**all_open("norm_placement"), "model": "tiny", "text": TEXT, "lang": lang, **target}
    )
    words = said(app)
    assert "{{" not in words and "Xiong et al. 2020" in words
    runs = {(run.norm_at, run.warmup > 0): run for run in experiments.recorded().runs if run.peak_rate == 3e-3}
    assert all(f"{run.final_loss:.2f}" in words for run in runs.values())
    drawn = plots(app)
    assert any("Post-LN" in name and "±" in name for name in drawn["norm_placement.start"])
    assert "norm_placement.alike" in pictures(app)
    assert len(app.dataframe) >= 2


def test_a_large_model_is_drawn_anew_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_model.topics.norm_placement.depth.MOST_DRAWN", 0)
    offer(monkeypatch, {"tiny": language_model(MODELS[0])})
    query = {**all_open("norm_placement"), "model": "tiny", "text": TEXT, "lang": "en"}
    words = "the same measured on random weights"
    assert words not in said(open_page("norm_placement", query))
    assert words in said(open_page("norm_placement", {**query, "untrained": "1"}))


@pytest.mark.parametrize(
    ("model", "learned", "beside"),
    [("story-pre-ln", "γ and β", "γ, β and centering"), ("story-modern", "γ", "γ"), ("translate-t5", "γ", "γ")],
)
def test_of_a_norm_is_said_what_it_does(model: str, learned: str, beside: str) -> None:
    """RMSNorm takes off no mean and adds nothing (Zhang and Sennrich 2019)."""
    app = open_page("norm_placement", {**all_open("norm_placement"), "model": model, "text": TEXT, "lang": "en"})
    words = said(app)
    assert f"{beside} alone (no division)" in words and f"changed by direction: by {beside}." in words
    assert (
        f"after division by σ and with the norm's {learned}. " in words
        and f"has above or below that comes from {learned}." in words
    )
    assert ("every centered vector" in words) == ("centering" in beside)
    assert ("cannot be compared with those of a model" in words) == (model != "story-pre-ln")


def test_the_twins_are_compared_before_and_after_training() -> None:
    query = {**all_open("norm_placement"), "model": "story-pre-ln", "text": TEXT, "lang": "en"}
    app = open_page("norm_placement", query)
    words = said(app)
    assert "The same models before their first step" in words and "How the twins were trained" in words
    # What may be said follows from this run's numbers.
    traces = {place: vm.load(f"story-{place}-ln").trace(TEXT) for place in ("pre", "post")}
    for place, trace in traces.items():
        found, name = readings(trace), {"pre": "Pre-LN", "post": "Post-LN"}[place]
        early, late = (f"{share:.0%}" for share in found.halves())
        assert words.count(f"{early}") and words.count(f"{late}")
        ends = [f"{np.median(found.before, 1)[n]:.1f}" for n in (0, -1)]
        assert f"{name}: before the norms the stream ends" in words and f"({ends[0]} → {ends[1]})" in words
        last = last_norm(trace)
        assert f"divided by σ alone, it changes at none of the {len(trace)} positions" in words
        assert f"with all of it at {last.changed('both')}" in words
    assert "cannot change a first choice" in words and "same say" not in words
    assert "Without warm-up, Post-LN's gradient is" in words
    mixed = said(open_page("norm_placement", {**query, "mixed": "post_pre"}))
    assert "The Post-LN encoder" in mixed and "The Pre-LN decoder" in mixed
    assert "set aside" in str(pictures(app)["norm_placement.sources"].header["keys"])
