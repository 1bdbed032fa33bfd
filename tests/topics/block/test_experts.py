"""The experts of a layer: who is chosen, what each gets, and what the page says of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import streamlit as st
from app_driver import offer, open_page
from streamlit.testing.v1 import AppTest
from tiny_models import EXPERTS, language_model, run_both, tiny_config

from viz_model.app import runs
from viz_model.config import Dense, ModelConfig
from viz_model.topics.block.numbers import experts
from viz_model.topics.block.pictures.experts import draw_routing

CONFIG = tiny_config(ffns=(Dense(), EXPERTS[0]))


def test_who_is_chosen_and_what_is_held_and_used() -> None:
    trace = run_both(language_model(CONFIG))
    assert experts.routing(trace, 0, 2) is None and experts.of_layer(trace, 0) is None
    view = experts.routing(trace, 1, 2)
    assert view is not None
    router = trace["blocks.1.ffn.router"]
    assert set(view.chosen) == set(router[2].topk(2).indices.tolist())
    assert view.weights[2, view.chosen[0]] >= view.weights[2, view.chosen[1]] > 0
    assert view.counts.sum() == 2 * len(trace)
    size = experts.parameters(CONFIG, "decoder", 1)
    block = language_model(CONFIG).model.stack("decoder").block(1)
    assert size.held == sum(weight.numel() for weight in block.ffn.parameters())
    assert size.used == 24 * 4 + 2 * (2 * 24 * 10 + 10 + 24)
    drawn = draw_routing(view, "token", "expert")
    assert [strip.name for strip in drawn.strips] == [f"expert {n}" for n in range(4)]
    np.testing.assert_array_equal(np.stack([strip.values for strip in drawn.strips]).T, view.weights)
    cells = drawn.strips[3].cells
    assert cells is not None and cells.at(0, 5) == ("blocks.1.ffn.chosen", (5, 3))


def test_what_each_expert_gets_is_counted_by_language() -> None:
    traces = [run_both(language_model(CONFIG), length) for length in (7, 9, 5)]
    found = experts.load(zip(("en", "zh", "en"), traces, strict=True), 1)
    assert found.languages == ("en", "zh") and found.n_tokens == (12, 9)
    english = np.concatenate([traces[n]["blocks.1.ffn.chosen"].numpy() > 0 for n in (0, 2)])
    np.testing.assert_allclose(found.shares[0], english.mean(0))
    np.testing.assert_allclose(found.shares.sum(1), 2)
    with pytest.raises(ValueError, match="no text"):
        experts.load([], 1)


@pytest.fixture
def fresh() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def opened(monkeypatch: pytest.MonkeyPatch, config: ModelConfig, **query: str) -> AppTest:
    offer(monkeypatch, {"tiny": language_model(dataclasses.replace(config, n_vocab=8192, n_context=64))})
    return open_page("block", {"model": "tiny", "text": "the cat and the dog ran", "token": "2", **query})


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("ffn", "lang"), [(EXPERTS[0], "en"), (EXPERTS[1], "zh")])
def test_the_page_says_who_is_chosen_where_there_are_experts(
    ffn: object, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(ffns=(Dense(), ffn))
    app = opened(monkeypatch, config, lang=lang, layer="1", experts_get="1")
    titles = "\n".join(str(title.value) for title in app.subheader)
    trace = runs.model("tiny").trace("the cat and the dog ran")
    view = experts.routing(trace, 1, 2)
    assert view is not None
    joined = {"en": " and ", "zh": "、"}[lang].join(map(str, view.chosen))
    assert f"{joined} of {ffn.n_experts}" in titles if lang == "en" else joined in titles  # type: ignore[attr-defined]
    tables = [table.value for table in app.dataframe if len(table.value) == ffn.n_experts]  # type: ignore[attr-defined]
    assert tables and list(tables[0].iloc[:, 0]) == list(range(ffn.n_experts))  # type: ignore[attr-defined]
    plain = opened(monkeypatch, config, lang=lang, layer="0")
    assert len(plain.subheader) > 0 and joined not in "\n".join(str(title.value) for title in plain.subheader[:3])
