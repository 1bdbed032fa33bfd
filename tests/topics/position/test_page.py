"""The position page, opened on a tiny model of every variant: true statements, real values, code that runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from app_driver import figures, offer, open_page, run_code
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, tiny_config, variants

from viz_model import config, texts
from viz_model.config import ModelConfig
from viz_model.topics.position import page

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]
TEXT = "the cat and the dog ran"
SCHEMES = {
    config.Sinusoidal: "Sinusoidal",
    config.Learned: "Learned",
    config.Rope: "Rotary (RoPE)",
    config.Alibi: "ALiBi",
    config.T5Bias: "T5 bias",
    config.RelativeKey: "Relative keys (relative_key)",
    config.NoPosition: "None (NoPE)",
}


class Opened:
    """Opens the page on a model that is in no registry."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __call__(self, config_: ModelConfig, **query: str) -> AppTest:
        offer(self.monkeypatch, {"tiny": language_model(config_)})
        return open_page("position", {"model": "tiny", "text": TEXT, "lang": "en", **query})


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    yield Opened(monkeypatch)
    st.cache_resource.clear()


def wide(config_: ModelConfig) -> ModelConfig:
    """The same variant with the whole vocabulary, so that any text can be run."""
    return tiny_config(**{**_fields(config_), "n_vocab": 8192})


def _fields(config_: ModelConfig) -> dict[str, Any]:
    return {name: getattr(config_, name) for name in config_.__dataclass_fields__}


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.caption, *app.subheader))


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_every_variant_names_its_own_scheme_and_its_code_agrees(config_: ModelConfig, opened: Opened) -> None:
    app = opened(wide(config_), layer="1", head="2", token="2")
    table = next(part.value for part in app.markdown if "|---|" in part.value)
    marked = [line for line in table.splitlines() if "▶" in line]
    assert len(marked) == 1 and f"**{SCHEMES[type(config_.position)]}**" in marked[0]
    assert len(figures(app)) >= 1
    words = run_code(app)
    assert "True" in words and "False" not in words


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("position", [config.T5Bias(buckets=8, max_distance=12), config.Rope(), config.Alibi()])
def test_both_halves_of_an_encoder_decoder(position: config.Position, side: str, opened: Opened) -> None:
    config_ = tiny_config(kind="encoder_decoder", position=position, n_vocab=8192, start_id=0, n_context=32)
    app = opened(config_, side=side, target="a b c d", head="1")
    assert "Cross-attention" in said(app)
    if isinstance(position, config.T5Bias):
        assert ("looks both ways" in said(app)) == (side == "encoder")


@pytest.mark.parametrize(
    ("position", "text"),
    list(
        itertools.product(
            [kind() for kind in SCHEMES], ["a", "<b>a</b> $x$ `t` | \\", "long " * 40, "\u202e\x00 👩‍👩‍👧"]
        )
    ),
)
def test_any_text_in_any_scheme_and_in_chinese(position: config.Position, text: str, opened: Opened) -> None:
    app = opened(tiny_config(position=position, n_vocab=8192, n_context=48), text=text, lang="zh")
    assert app.header[0].value == texts.Texts("zh")("common.page_position")


def test_moving_both_tokens_keeps_the_score_and_another_key_changes_it(opened: Opened) -> None:
    app = opened(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64), token="4")

    def scores() -> list[str]:
        (text,) = [part.value for part in app.markdown if "turn the same two vectors again" in part.value]
        return [piece.split("**")[0] for piece in text.split("**")[1:] if piece[:1] in "-0123456789"]

    app.slider(key="position.shift").set_value(5).run()
    near = scores()
    app.slider(key="position.shift").set_value(900).run()
    far = scores()
    assert not app.exception
    assert float(near[0]) == pytest.approx(float(near[1]), abs=1e-4) == pytest.approx(float(far[1]), abs=1e-4)
    key = app.select_slider(key="position.key")
    key.set_value(next(at for at in range(4) if at != key.value)).run()
    assert not app.exception
    assert abs(float(scores()[0]) - float(near[0])) > 1e-3


def test_no_words_of_waves_where_there_are_none(opened: Opened) -> None:
    for position in (config.Alibi(), config.T5Bias(buckets=8, max_distance=12), config.Rope(), config.NoPosition()):
        parts = [
            part for part in said(opened(tiny_config(position=position, n_vocab=8192))).split("\n") if "|" not in part
        ]
        assert "adds waves" not in " ".join(parts) and "sine and cosine" not in " ".join(parts).lower()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("position", [kind() for kind in SCHEMES], ids=lambda p: type(p).__name__)
def test_a_scheme_without_a_view_of_its_own_shows_what_it_declares(
    position: config.Position, lang: str, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "OWN", {})
    app = opened(tiny_config(position=position, n_vocab=8192), layer="1", head="2", token="2", lang=lang)
    parts = " ".join(part for part in said(app).split("\n") if "|" not in part).lower()
    for word in ("adds waves", "trained row", "slope", "buckets", "arrow", "加上波", "斜率", "分桶", "箭头"):
        assert word not in parts
    assert position.acts_on == "nothing" or figures(app)
    assert "False" not in run_code(app)


def test_layers_with_and_without_a_scheme(opened: Opened) -> None:
    kinds = (config.Rope(), config.NoPosition())
    mixed = tiny_config(position=kinds[0], positions=kinds, n_layers=2, n_vocab=8192)
    turned, plain = (said(opened(mixed, layer=layer, token="2")) for layer in "01")
    assert "turns its queries and keys" in turned and "turns its queries and keys" not in plain
    assert "Layers differ" in turned and "Layers differ" in plain
    assert "no position scheme of its own" in plain and "bag of tokens" not in plain


def test_what_is_chosen_stands_in_the_address(opened: Opened) -> None:
    app = opened(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64), token="4", pair="1", shift="900")
    assert app.slider(key="position.pair").value == 1 and app.slider(key="position.shift").value == 900
    app.slider(key="position.shift").set_value(7).run()
    assert app.query_params["shift"] == "7" and app.query_params["pair"] == "1"


def test_a_text_longer_than_the_context_is_read_when_it_is_asked_for(opened: Opened) -> None:
    longer = tiny_config(position=config.Alibi(), n_vocab=8192, n_context=64)
    app = opened(longer)
    assert "Longer than the training" in said(app) and "nats for a token beyond" not in said(app)
    n_before = len(figures(app))
    app.toggle(key="position.beyond").set_value(True).run()
    assert not app.exception and app.query_params["beyond"] == "1"
    assert len(figures(app)) == n_before + 1
    assert "**`tiny`** (ALiBi)" in said(app) and "{{" not in said(app)
    app.text_area(key="position.beyond_text").set_value("too short").run()
    assert not app.exception and any("more than 64 tokens" in part.value for part in app.info)


@pytest.mark.parametrize("text", [TEXT, "a b c", "a"])
def test_relative_keys_are_put_into_a_model_that_has_none(text: str, opened: Opened) -> None:
    app = opened(tiny_config(position=config.Alibi(), n_vocab=8192, n_context=32), text=text, relative="1", token="0")
    assert not app.exception and "{{" not in said(app)
    assert ("before any training" in said(app)) == (text != "a")
