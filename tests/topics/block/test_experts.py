"""The experts of a layer: who is chosen, what each gets, and what the page says of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import islands
import numpy as np
import pytest
import streamlit as st
import torch
from app_driver import offer, open_page, said
from doors import all_open
from streamlit.testing.v1 import AppTest
from tiny_models import EXPERTS, language_model, run_both, tiny_config

import viz_model as vm
from viz_model.app import runs
from viz_model.config import Dense, ModelConfig
from viz_model.drawing.scene import Cells, Items, seen
from viz_model.drawing.theme import TOKENS
from viz_model.topics.block import PAGE, experts, memory, vectors
from viz_model.topics.block.experts import SYMBOLS

CONFIG = tiny_config(ffns=(Dense(), EXPERTS[0]))


def test_who_is_chosen_and_what_is_held_and_used() -> None:
    trace = run_both(language_model(CONFIG))
    assert experts.routing(trace, 0, 2) is None and experts.of_layer(trace, 0) is None
    view = experts.routing(trace, 1, 2)
    assert view is not None
    router = trace["blocks.1.ffn.router"]
    chosen, weights = view.chosen(0, 2), view.weights[0]
    assert set(chosen) == set(router[2].topk(2).indices.tolist())
    assert weights[2, chosen[0]] >= weights[2, chosen[1]] > 0
    assert (weights > 0).sum() == 2 * len(trace)
    size = experts.parameters(CONFIG, "decoder", 1)
    block = language_model(CONFIG).model.stack("decoder").block(1)
    assert size.held == sum(weight.numel() for weight in block.ffn.parameters())
    assert size.used == 24 * 4 + 2 * (2 * 24 * 10 + 10 + 24)
    look = islands.look(trace.at("decoder"), PAGE, layer=1, token=2)
    scene = experts.draw(look)
    assert scene is not None
    rows = [mark for mark in seen(scene, look.place).panels[0].marks if isinstance(mark, Cells)]
    assert [mark.name for mark in rows] == [f"expert {n}" for n in range(4)]
    np.testing.assert_array_equal(np.stack([np.ravel(mark.values) for mark in rows]).T, weights)
    assert rows[3].where is not None and rows[3].where.at(0, 5) == ("blocks.1.ffn.chosen", (5, 3))


def test_what_each_expert_gets_is_counted_by_language() -> None:
    traces = [run_both(language_model(CONFIG), length) for length in (7, 9, 5)]
    found = experts.load(zip(("en", "zh", "en"), traces, strict=True), 1)
    assert found.languages == ("en", "zh") and found.n_tokens == (12, 9)
    english = np.concatenate([traces[n]["blocks.1.ffn.chosen"].numpy() > 0 for n in (0, 2)])
    np.testing.assert_allclose(found.shares[0], english.mean(0))
    np.testing.assert_allclose(found.shares.sum(1), 2)
    with pytest.raises(ValueError, match="no text"):
        experts.load([], 1)


def test_the_way_of_every_token_through_every_layer() -> None:
    config = tiny_config(n_layers=4, ffns=(Dense(), EXPERTS[0], Dense(), EXPERTS[0]), n_context=64)
    trace = run_both(language_model(config), 30)
    assert config.layers_with_experts("decoder") == (1, 3)
    view = experts.routes(trace, 0, 25)
    assert view is not None and view.layers == (1, 3) and view.columns == (0, 1)
    assert len(view.places) == 22 and 25 in view.places
    scene = experts.draw_routes(islands.look(trace.at("decoder"), PAGE, token=25))
    assert scene is not None
    items = {mark.name: mark for mark in scene.panels[0].marks if isinstance(mark, Items)}
    assert list(items) == ["blocks.1.ffn.chosen", "blocks.3.ffn.chosen"]
    for n, mark in enumerate(items.values()):
        assert len(mark.labels) == 2 * len(view.places)
        assert mark.where is not None
        drawn = [mark.where.at(k, k) for k in range(len(mark.labels))]
        for place in view.places:
            best = trace[mark.name][place].argsort(descending=True)[:2].tolist()
            assert view.chosen(n, place) == best
            assert [(mark.name, (place, e)) for e in best] == [at for at in drawn if at and at[1][0] == place]
    pairs = {(SYMBOLS[e % len(SYMBOLS)], TOKENS[e % len(TOKENS)]) for e in range(56)}
    assert len(pairs) == 56
    assert experts.routes(run_both(language_model(tiny_config())), 0, 0) is None
    with pytest.raises(ValueError, match="no block of this stack has experts"):
        vm.plot.experts(run_both(language_model(tiny_config())))


def test_a_neuron_stands_in_its_expert() -> None:
    trace = run_both(language_model(CONFIG))
    act = trace["blocks.1.ffn.act"][2]
    number = int(act.abs().argmax())
    inside, reads = experts.of_neuron(trace, 1, 2, number), vectors.vectors(trace, 1, 2).reads("ffn")
    found = memory.memory(trace, 1, number, reads)
    assert inside is not None and found is not None
    assert (inside.expert, inside.inside) == divmod(number, 10)
    ffn = language_model(CONFIG).model.stack("decoder").block(1).ffn
    before = float(found.key @ found.reads) + ffn.up.bias[number].item()
    assert max(before, 0) * inside.weight == pytest.approx(act[number].item(), abs=1e-5)
    assert inside.n_read == int((trace["blocks.1.ffn.chosen"][:, inside.expert] > 0).sum())
    assert experts.of_neuron(trace, 0, 2, 3) is None


@pytest.mark.full
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_bundled_model_tells_what_was_measured_and_stands_beside_its_sibling(lang: str) -> None:
    text = "The cat sat on the mat."
    query = {"model": "story-moe", "text": text, "lang": lang, "layer": "3", "token": "3", "door_neurons": "1"}
    app = open_page("block", {**query, **all_open("block")})
    words = said(app)
    lm, dense = vm.load("story-moe"), vm.load("story-pre-ln")
    found = experts.measured(lm.folder, 3)
    assert found is not None and experts.measured(lm.folder, 0) is None
    kind, expert, share = found.most
    assert found.shares[found.kinds.index(kind), expert] == share == found.shares.max()
    assert f"{share:.0%}" in words and f"{found.balance['all']:.2f}" in words and "story-pre-ln" in words
    for run in (lm.trace(text), dense.trace(text)):
        nats = torch.nn.functional.cross_entropy(run["logits"][:-1], torch.tensor(run.ids[1:])).item()
        assert f"{nats:.3f}" in words
    tables = [table.value for table in app.dataframe]
    assert any(len(table) == 8 and found.tokens[0][0][0] in str(table.iloc[0, 1]) for table in tables)
    (beside,) = (table for table in tables if table.shape == (5, 2))
    for n, run in enumerate((lm.trace(text), dense.trace(text))):
        best = run.next_tokens(-1, 5)
        assert list(beside.iloc[:, n]) == [f"{token.label}  {p:.1%}" for token, p in best]
    other = open_page("block", {**query, **all_open("block"), "layer": "0"})
    elsewhere = {"en": "there are experts in blocks 1, 3", "zh": "有专家的是块 1、3"}[lang]
    assert elsewhere in said(other)


@pytest.fixture
def fresh() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def opened(monkeypatch: pytest.MonkeyPatch, config: ModelConfig, **query: str) -> AppTest:
    offer(monkeypatch, {"tiny": language_model(dataclasses.replace(config, n_vocab=8192, n_context=64))})
    return open_page("block", {"model": "tiny", "text": "the cat and the dog ran", "token": "2", **query})


@pytest.mark.full
@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("ffn", "lang"), [(EXPERTS[0], "en"), (EXPERTS[1], "zh")])
def test_the_page_says_who_is_chosen_where_there_are_experts(
    ffn: object, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_config(ffns=(Dense(), ffn))
    app = opened(monkeypatch, config, lang=lang, layer="1", experts_get="1", **all_open("block"))
    titles = said(app)
    trace = runs.model("tiny").trace("the cat and the dog ran")
    view = experts.routing(trace, 1, 2)
    assert view is not None
    joined = {"en": " and ", "zh": "、"}[lang].join(map(str, view.chosen(0, 2)))
    assert f"{joined} of {ffn.n_experts}" in titles if lang == "en" else joined in titles  # type: ignore[attr-defined]
    tables = [table.value for table in app.dataframe if len(table.value) == ffn.n_experts]  # type: ignore[attr-defined]
    assert tables and list(tables[0].iloc[:, 0]) == list(range(ffn.n_experts))  # type: ignore[attr-defined]
    plain = opened(monkeypatch, config, lang=lang, layer="0")
    assert len(plain.subheader) > 0 and joined not in "\n".join(str(title.value) for title in plain.subheader[:3])
