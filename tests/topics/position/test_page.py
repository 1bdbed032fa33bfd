"""The position page on a tiny model of every variant: true statements, real values, code that runs."""

from __future__ import annotations

from typing import Any

import pytest
from islands import look, pictures, sentences
from tiny_models import language_model, tiny_config

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.island.look import Look
from viz_model.topics import position as topic
from viz_model.topics.position import longer, relative

TEXT = "the cat and the dog ran"


def at(config_: ModelConfig, text: str = TEXT, lang: str = "en", side: Any = None, **options: str) -> Look:
    target = "a b c d" if config_.kind == "encoder_decoder" else None
    trace = language_model(config_).trace(text, target)
    here = look(trace.at(side or config_.sides[-1]), topic.PAGE, lang, layer=1, head=2, token=min(2, len(trace) - 1))
    here.options.update(options)  # type: ignore[attr-defined]
    return here


def said(here: Look) -> str:
    return "\n".join(sentences(topic.PAGE, here))


TEXTS = ("a", "<b>a</b> $x$ `t` | \\", "long " * 40, "\u202e\x00 👩‍👩‍👧")


def test_a_sentence_follows_the_selection() -> None:
    here = at(tiny_config(position=config.Rope(), n_vocab=8192, n_context=64))
    first, other = (sentences(topic.PAGE, here, token=token, head=head) for token, head in ((1, 0), (4, 2)))
    assert any("stands at position 1" in one for one in first) and any("stands at position 4" in one for one in other)
    assert "Queries of head 2" in other


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
