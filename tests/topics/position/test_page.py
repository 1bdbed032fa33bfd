"""The position page on a tiny model of every variant: true statements, real values, code that runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from app_driver import offer, open_page, run_code
from islands import look, made, pictures, sentences
from streamlit.testing.v1 import AppTest
from tiny_models import describe, language_model, tiny_config, variants

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Arrays, svg
from viz_model.island import message
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.texts import LANGUAGES
from viz_model.topics import position as topic
from viz_model.topics.position import longer, relative, schemes

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
OPENED = tuple(section.name for section in topic.PAGE.sections)


def wide(config_: ModelConfig) -> ModelConfig:
    """The same variant with the whole vocabulary, so that any text can be run."""
    return tiny_config(**{**{name: getattr(config_, name) for name in config_.__dataclass_fields__}, "n_vocab": 8192})


def at(config_: ModelConfig, text: str = TEXT, lang: str = "en", side: Any = None, **options: str) -> Look:
    target = "a b c d" if config_.kind == "encoder_decoder" else None
    trace = language_model(config_).trace(text, target)
    here = look(trace.at(side or config_.sides[-1]), topic.PAGE, lang, layer=1, head=2, token=min(2, len(trace) - 1))
    here.options.update(options)  # type: ignore[attr-defined]
    return here


def said(here: Look) -> str:
    return "\n".join(sentences(topic.PAGE, here))


@pytest.mark.full
@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_every_variant_names_its_own_scheme(config_: ModelConfig) -> None:
    here = at(wide(config_))
    assert f"▶ {SCHEMES[type(config_.position)]}" in said(here)
    assert pictures(topic.PAGE, here)


@pytest.mark.full
@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("position", [config.T5Bias(buckets=8, max_distance=12), config.Rope(), config.Alibi()])
def test_both_halves_of_an_encoder_decoder(position: config.Position, side: str) -> None:
    config_ = tiny_config(kind="encoder_decoder", position=position, n_vocab=8192, start_id=0, n_context=32)
    words = said(at(config_, side=side))
    assert "Cross-attention" in words
    if isinstance(position, config.T5Bias):
        assert ("looks both ways" in words) == (side == "encoder")


TEXTS = ("a", "<b>a</b> $x$ `t` | \\", "long " * 40, "\u202e\x00 👩‍👩‍👧")


@pytest.mark.full
@pytest.mark.parametrize(("position", "text"), list(itertools.product([kind() for kind in SCHEMES], TEXTS)))
def test_any_text_in_any_scheme_and_language(position: config.Position, text: str) -> None:
    for lang in LANGUAGES:
        here = at(tiny_config(position=position, n_vocab=8192, n_context=48), text, lang)
        assert "{{" not in said(here)
        for scene in pictures(topic.PAGE, here).values():
            assert "<b>" not in svg.svg(scene, 800, "light")
        arrays = Arrays()
        assert message.message(topic.PAGE, here, arrays, OPENED)


def test_a_sentence_follows_the_selection() -> None:
    here = at(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64))
    first, other = (sentences(topic.PAGE, here, token=token, head=head) for token, head in ((1, 0), (4, 2)))
    assert any("stands at position 1" in one for one in first) and any("stands at position 4" in one for one in other)
    assert "Queries of head 2" in other


def test_no_words_of_waves_where_there_are_none() -> None:
    for position in (config.Alibi(), config.T5Bias(buckets=8, max_distance=12), config.Rope(), config.NoPosition()):
        words = said(at(tiny_config(position=position, n_vocab=8192)))
        assert "adds waves" not in words and "Sine and cosine" not in words


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("position", [kind() for kind in SCHEMES], ids=lambda p: type(p).__name__)
def test_a_scheme_without_a_view_of_its_own_shows_what_it_declares(
    position: config.Position, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schemes, "OWN", ())
    here = at(tiny_config(position=position, n_vocab=8192), lang=lang)
    words = said(here).lower()
    for word in ("adds waves", "trained row", "slope", "arrow", "加上波", "斜率", "箭头"):
        assert word not in "\n".join(line for line in words.splitlines() if "|" not in line and "bloom" not in line)
    assert (position.acts_on == "nothing") == (set(pictures(topic.PAGE, here)) == {"position.each"})
    assert topic.picture(here) is not None or position.acts_on == "nothing"


def test_layers_with_and_without_a_scheme() -> None:
    kinds = (config.Rope(), config.NoPosition())
    mixed = tiny_config(position=kinds[0], positions=kinds, n_layers=2, n_vocab=8192)
    trace = language_model(mixed).trace(TEXT)
    turned, plain = (said(look(trace, topic.PAGE, layer=layer, token=2)) for layer in (0, 1))
    assert "turns its queries and keys" in turned and "turns its queries and keys" not in plain
    assert "Layers differ" in turned and "Layers differ" in plain
    assert "no position scheme of its own" in plain and "bag of words" not in plain


def test_a_text_longer_than_the_context_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longer, "_bundled", dict)
    config_ = tiny_config(position=config.Alibi(), n_vocab=8192, n_context=64)
    assert "Longer than the training" in said(at(config_)) and "nats for a token beyond" not in said(at(config_))
    asked = at(config_, beyond="1")
    assert "position.losses" in pictures(topic.PAGE, asked)
    found = longer.found(asked)[config_.position]
    within, beyond = found.pieces[64:].mean(), found.long[64:].mean()
    assert f"{within:.2f}" in said(asked) and f"{beyond:.2f}" in said(asked) and "{{" not in said(asked)


@pytest.mark.parametrize("text", [TEXT, "a b c", "a"])
@pytest.mark.parametrize("which", ["1", "2"])
def test_relative_keys_are_put_into_a_model_that_has_none(text: str, which: str) -> None:
    here = at(tiny_config(position=config.Alibi(), n_vocab=8192, n_context=32), text, relative=which)
    for token in range(len(here)):
        words = "\n".join(sentences(topic.PAGE, here, token=token))
        assert "{{" not in words and ("before any training" in words) == (text != "a")
    if text != "a":
        assert "position.relative_bias" in pictures(topic.PAGE, here)


def test_what_keys_add_to_relative_scores_is_their_product_with_the_vector() -> None:
    here = at(tiny_config(position=config.Alibi(), n_vocab=8192, n_context=32, n_kv_heads=1), TEXT, relative="2")
    there = relative.other(here)
    assert there is not None
    trace, reach = there.trace, there.config.n_context - 1
    table = trace.stack.position_of(0).get_parameter("distances.weight").detach().numpy()
    asked, whole = relative.by_query(there), there.every("attn.bias")
    q, k = trace["blocks.0.attn.q"].numpy(), trace["blocks.0.attn.k"].numpy()
    for head, i, j in ((0, 3, 1), (1, 4, 4), (2, 5, 0)):
        vector, root = table[j - i + reach], there.config.d_head**0.5
        assert asked[0, head, i, j] == pytest.approx(float(q[head, i] @ vector) / root, abs=1e-6)
        assert whole[0, head, i, j] - asked[0, head, i, j] == pytest.approx(float(k[0, j] @ vector) / root, abs=1e-6)


@pytest.mark.parametrize("position", [config.Learned(), config.Rope(), config.Alibi(), config.NoPosition()])
def test_a_question_has_the_answer_of_the_run(position: config.Position) -> None:
    here = at(tiny_config(position=position, n_vocab=8192, n_context=64))
    (quiz,) = [one for one in made(topic.PAGE, here) if isinstance(one, Quiz)]
    assert len(quiz.options) >= 2


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


@pytest.mark.full
@pytest.mark.parametrize("position", [kind() for kind in SCHEMES], ids=lambda p: type(p).__name__)
def test_the_tabs_agree_with_the_run(position: config.Position, opened: Opened) -> None:
    app = opened(tiny_config(position=position, n_vocab=8192), layer="1", head="2", token="2", tab="hand")
    assert not app.exception and any("Recomputed" in part.value for part in app.markdown)
    words = run_code(opened(tiny_config(position=position, n_vocab=8192), layer="1", head="2", token="2", tab="code"))
    assert "True" in words and "False" not in words


def test_what_is_chosen_stands_in_the_address(opened: Opened) -> None:
    asked = {"pair": "1", "shift": "900", "key": "3"}
    app = opened(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64), token="4", **asked)
    assert not app.exception and {name: app.query_params[name] for name in asked} == {
        name: value if isinstance(app.query_params[name], str) else [value] for name, value in asked.items()
    }
