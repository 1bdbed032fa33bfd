"""The cross-attention page, opened on tiny models of every kind: values of the trace, true words, code that runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scenes
import streamlit as st
from app_driver import offer, open_page, pictures, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, variants

from viz_model.app import runs
from viz_model.config import ModelConfig
from viz_model.topics.cross_attention.claims import OWN, Own

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]
TEXT, TARGET = "the cat and the dog ran", "a dog and a cat"
EVERY = [dataclasses.replace(config, n_vocab=8192, n_context=48) for config in variants()]
PAIRS = [config for config in EVERY if config.kind == "encoder_decoder"]
SINGLE = [next(config for config in EVERY if config.kind == kind) for kind in ("decoder", "encoder")]


class Opened:
    """Opens the page on a model that is in no registry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, config: ModelConfig, others: dict[str, ModelConfig] | None = None, **query: str) -> AppTest:
        self.lm = language_model(config)
        offer(
            self.monkeypatch,
            {"tiny": self.lm, **{name: language_model(other) for name, other in (others or {}).items()}},
        )
        return open_page("cross_attention", {"model": "tiny", "text": TEXT, "lang": "en", **query})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    yield Opened(monkeypatch)
    st.cache_resource.clear()


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.caption, *app.subheader, *app.info))


def check_lines(drawn: scenes.Sent, pattern: np.ndarray, token: int) -> None:
    """The lines are the weights [Tq, Ts] of a short text, as thick as these, and the token's stand out."""
    found = {mark["id"]: mark for mark in drawn.marks()}
    for q, s in np.ndindex(pattern.shape):
        thick = found[f"line.{q}.{s}"]["thick"] if f"line.{q}.{s}" in found else 0.6
        assert (thick - 0.6) / 7 == pytest.approx(pattern[q, s], abs=0.02 if thick == 0.6 else 1e-6)
    boxes = {q: found[f"target.{q}"]["opacity"] for q in range(len(pattern))}
    assert max(boxes, key=lambda q: boxes[q]) == token and len(set(boxes.values())) == min(2, len(boxes))
    for s, weight in enumerate(pattern[token]):
        assert (f"share.{s}" in found) == (weight >= 0.005)
        if weight >= 0.005:
            assert found[f"share.{s}"]["text"] == f"{weight:.0%}"


@pytest.mark.parametrize("config", PAIRS, ids=describe)
def test_the_page_draws_the_trace_and_its_code_agrees(config: ModelConfig, opened: Opened) -> None:
    app = opened(config, target=TARGET, layer="1", head="2", token="3")
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    pattern = trace["blocks.1.cross.pattern"].numpy()
    drawn = pictures(app)
    for head, weights in enumerate(pattern):
        cells = drawn["cross_attention.grid"].mark("cells", panel=f"head.{head}")
        np.testing.assert_allclose(cells["values"], weights, atol=1e-6)
    np.testing.assert_allclose(drawn["cross_attention.map"].mark("cells")["values"], pattern[2], atol=1e-6)
    assert drawn["cross_attention.map"].mark("rows")["marked"] == 3
    check_lines(drawn["cross_attention.lines"], pattern[2], 3)
    lines = run_code(app)
    assert lines == ["decoder.blocks.1.cross.pattern", "True"]
    words = said(app)
    # What depends on the kind of model is said only where it is true.
    assert ("does not divide by" in words) == (not config.scale_scores)
    assert ("query heads share one" in words) == (config.n_kv_heads < config.n_heads)
    assert ("the dot product of the normalised ones" in words) == config.qk_norm
    assert ("which has no bias in this model" in words) == (not config.has_out_bias)
    assert ("the norm that follows the addition" in words) == (config.norm_at == "post")
    assert f"3 encoder blocks run once; each of the {config.n_layers} decoder blocks" in words


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_is_the_decoders_whichever_stack_is_chosen(lang: str, opened: Opened) -> None:
    # The encoder is deeper: its last layer is no layer of the decoder.
    app = opened(PAIRS[0], target=TARGET, side="encoder", layer="2", head="1", token="1", lang=lang)
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    check_lines(pictures(app)["cross_attention.lines"], trace["blocks.1.cross.pattern"][1].numpy(), len(trace) - 1)


def test_the_average_is_over_the_heads_and_says_so(opened: Opened) -> None:
    app = opened(PAIRS[1], target=TARGET, layer="0", token="2")
    app.button_group(key="cross_attention.shown").set_value("average").run()
    assert not app.exception
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    mean = trace["blocks.0.cross.pattern"].mean(0).numpy()
    drawn = pictures(app)
    check_lines(drawn["cross_attention.lines"], mean, 2)
    np.testing.assert_allclose(drawn["cross_attention.map"].mark("cells")["values"], mean, atol=1e-6)
    assert not list(drawn["cross_attention.map"].cells()), "an average is no number of the run"
    assert f"the average of the {PAIRS[1].n_heads} heads of layer 0" in said(app)


def test_padding_is_shown_as_what_this_run_did_not_do(opened: Opened) -> None:
    app = opened(PAIRS[0], target=TARGET, token="2")
    assert "There is no mask here" in said(app) and "Not what this run did" not in said(app)
    app.button_group(key="cross_attention.mask").set_value("padding").run()
    assert not app.exception and "Not what this run did" in said(app)


def test_the_stepper_selects_the_token_of_the_whole_page(opened: Opened) -> None:
    app = opened(PAIRS[0], target=TARGET, token="1", layer="0", head="0")
    app.slider(key="cross_attention.step").set_value(4).run()
    assert not app.exception
    trace = opened.lm.trace(TEXT, TARGET).at("decoder")
    assert app.query_params["token"] == "4"
    check_lines(pictures(app)["cross_attention.lines"], trace["blocks.0.cross.pattern"][0].numpy(), 4)
    assert "after 5 tokens the model's first guess is" in said(app)


def test_a_target_of_the_start_token_alone_has_one_step(opened: Opened) -> None:
    app = opened(PAIRS[0], target="")
    drawn = [mark["id"] for mark in pictures(app)["cross_attention.lines"].marks()]
    assert [name for name in drawn if name.startswith("target.name.")] == ["target.name.0"]
    assert not [slider for slider in app.slider if slider.key == "cross_attention.step"]
    assert "the target ends" in said(app)


@pytest.mark.parametrize(
    ("same", "own", "target", "said"),
    [(4, 4, 4, "same"), (4, 64, 4, "same"), (64, 64, 90, "cut"), (3, 9, 8, "plain"), (0, 9, 8, "apart")],
)
def test_a_target_is_compared_with_no_more_than_was_said(same: int, own: int, target: int, said: str) -> None:
    assert runs.MAX_SAID == 64
    assert OWN.of(Own(same, own, target, runs.MAX_SAID)).name == said


@pytest.mark.parametrize(
    "text", ["a", "<b>bold</b> $x^2$ **stars** `ticks`", "\u202eback\u202c 👩‍👩‍👧 \x00", "long " * 400]
)
def test_any_source_and_target_render(text: str, opened: Opened) -> None:
    opened(PAIRS[5], text=text, target=text)


@pytest.mark.parametrize("config", SINGLE, ids=describe)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_model_without_it_says_so_and_names_those_that_have_it(
    config: ModelConfig, lang: str, opened: Opened
) -> None:
    app = opened(config, {"pair": PAIRS[0], "other": SINGLE[0]}, lang=lang, token="2")
    assert len(app.info) == 1 and "`tiny`" in app.info[0].value
    assert run_code(app)[-1] == "True"
    buttons = {button.key for button in app.button}
    assert "cross_attention.model.pair" in buttons and "cross_attention.model.other" not in buttons
    if lang == "en":
        assert f"{config.kind} alone" in said(app)
        app.button(key="cross_attention.model.pair").click().run()
        assert not app.exception and "cross_attention.lines" in pictures(app)
        assert app.query_params["model"] == "pair"
