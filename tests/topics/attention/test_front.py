"""X · W → Q, the head between two streams, and the mask as a buffer: each by other arithmetic."""

from __future__ import annotations

import islands
import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model.drawing.scene import Cells, Rect, Scene, seen
from viz_model.island.look import Look
from viz_model.topics.attention import PAGE, buffer, carries, projected


def drawn(look: Look) -> Scene:
    made = projected.draw(look)
    assert made is not None
    return made


@pytest.fixture(params=few(), ids=describe)
def look(request: pytest.FixtureRequest) -> Look:
    trace = run_both(language_model(request.param), length=8).at(request.param.sides[-1])
    return islands.look(trace, PAGE, layer=1, head=2, token=3)


def test_what_is_read_times_the_matrices_is_what_is_drawn(look: Look) -> None:
    config, block = look.config, look.trace.stack.block(1)
    scene = seen(drawn(look), look.place)
    cells = {mark.id: np.asarray(mark.values) for mark in scene.panels[0].marks if isinstance(mark, Cells)}
    group = config.kv_head(2)
    for letter, head in (("q", 2), ("k", group), ("v", group)):
        own = slice(head * config.d_head, (head + 1) * config.d_head)
        layer: torch.nn.Linear = getattr(block.attn, letter)
        matrix = layer.weight[own].T.numpy()
        bias = 0 if layer.bias is None else layer.bias[own].numpy()
        np.testing.assert_allclose(cells["x"] @ matrix + bias, cells[f"made.{letter}"], atol=1e-4)
        # Of a matrix with more rows than pixels a cell is the number furthest from 0 of those it stands for.
        deep = -(-len(matrix) // len(cells[f"w.{letter}"]))
        parts = np.split(matrix, range(deep, len(matrix), deep))
        furthest = np.stack([np.take_along_axis(p, np.abs(p).argmax(0)[None], 0)[0] for p in parts])
        np.testing.assert_allclose(np.abs(cells[f"w.{letter}"]), np.abs(furthest), atol=1e-6)


def test_a_head_adds_its_weighted_value_through_the_output_matrix(look: Look) -> None:
    found, trace, config = carries.carried(look.narrow), look.trace, look.config
    pattern, v = trace["blocks.1.attn.pattern"][2, 3], trace["blocks.1.attn.v"][config.kv_head(2)]
    key = int(pattern.argmax())
    assert found.key[0, 2, 3] == key
    w_o = trace.stack.block(1).attn.o.weight[:, 2 * config.d_head : 3 * config.d_head]
    assert found.added[0, 2, 3] == pytest.approx(float((pattern[key] * (w_o @ v[key])).norm()), abs=1e-4)
    assert found.update[0, 3] == pytest.approx(float(trace["blocks.1.attn.out"][3].norm()), abs=1e-5)
    scene = seen(carries.draw(look), look.place)
    thick = {mark.id: float(np.asarray(mark.width)) for mark in scene.panels[0].marks
             if isinstance(mark, Rect) and mark.id.startswith("to.")}  # fmt: skip
    lengths = found.streams[:, 3]
    np.testing.assert_allclose(
        [thick[f"to.{n}"] / thick["to.0"] for n in range(len(lengths))], lengths / lengths[0], rtol=1e-4
    )


def test_the_mask_takes_the_text_out_of_the_context() -> None:
    look = islands.look(vm.load("story-pre-ln").trace("Tom had a cat"), PAGE)
    scene = buffer.draw(look)
    assert scene is not None
    sides = {mark.id: mark.width for mark in scene.panels[0].marks if isinstance(mark, Rect)}
    assert sides["text"] / sides["whole"] == pytest.approx(len(look) / look.config.n_context)  # type: ignore[operator]
    said = " ".join(islands.one(buffer.tell(look), look.place))
    assert "256" in said and str(int(look.trace.mask(0).sum())) in said
    assert not buffer.has(islands.look(vm.load("story-bert").trace("Tom had a cat"), PAGE))


def test_a_head_without_a_role_is_named_after_what_it_reads_most() -> None:
    trace = vm.load("story-pre-ln").trace("The cat sat on the mat because it was tired.")
    for (layer, head), said in {(0, 0): "previous token, 32%", (3, 4): "itself, 38%", (3, 0): "54% on ·cat"}.items():
        titles = islands.sentences(PAGE, islands.look(trace, PAGE, layer=layer, head=head))
        assert f"Head {head} in layer {layer}: {said}" in titles
        # The mean weight on each place over the rows that have a choice, by hand.
        rows = trace[f"blocks.{layer}.attn.pattern"][head][1:]
        places = {"previous": rows.diagonal(), "itself": rows.diagonal(1), "first": rows[:, 0]}
        largest = max(places, key=lambda name: float(places[name].mean()))
        keys = rows.mean(0)
        assert (float(places[largest].mean()) > float(keys.max())) == ("on" not in said.split())
