"""The experts of a layer: who is chosen, what each gets, and what the page says of it."""

from __future__ import annotations

import islands
import numpy as np
import pytest
from tiny_models import EXPERTS, language_model, run_both, tiny_config

import viz_model as vm
from viz_model.config import Dense
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
