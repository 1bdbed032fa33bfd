"""The views of the embedding page against the trace and the table, and their drawing."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import viz_model as vm
from viz_model.topics.embedding.numbers import Geometry, by_hand, cosines, geometry, views
from viz_model.topics.embedding.pictures import lookup, matrix, neighbours, plane, vector

TEXTS = ["The", "a cat and a dog and a bird", "<b>我爱</b> 👩 $x$", "Once upon a time " * 60]
LOOKUP = {"table": "table", "rows": "rows", "row": "row", "mean": "mean", "token": "token", "dimension": "d"}
PLANE = {"count": "rows", "id": "id", "first": "first", "second": "second"}


@functools.cache
def table(lm: vm.LanguageModel) -> Geometry:
    return geometry(lm.model.embedding.weight.detach().numpy())


@pytest.mark.parametrize("text", ["The", "a cat and a dog", "<b>我爱</b>"])
def test_picked_rows_times_the_scale_are_the_trace(lm: vm.LanguageModel, text: str) -> None:
    trace = lm.trace(text)
    view = views.lookup_view(trace, table(lm), 0)
    assert view.ids.tolist() == list(trace.ids)
    recorded = trace["embed.token"].numpy()
    np.testing.assert_allclose(view.rows * lm.model.embedding_scale, recorded, rtol=1e-6)
    np.testing.assert_array_equal(views.matrix_view(trace, 0, ("t", "d")).values, recorded)
    np.testing.assert_array_equal(views.vector_view(trace, 0).values, recorded[0])


def test_views_of_the_bundled_models(bundled: vm.LanguageModel) -> None:
    shape, trace = table(bundled), bundled.trace("Once upon a time, there was a little girl")
    token = len(trace) - 1
    view = views.lookup_view(trace, shape, token)
    np.testing.assert_allclose(view.rows * bundled.model.embedding_scale, trace["embed.token"].numpy(), rtol=1e-6)
    near = views.neighbours_view(trace, shape, token)
    np.testing.assert_allclose(near.cosines, cosines(shape, trace.ids[token])[near.ids])
    assert trace.ids[token] not in near.ids and len(near.ids) == 12
    assert near.labels == tuple(t.label for t in bundled.tokenizer.tokens(near.ids.tolist()))


def test_the_map_shows_every_token_once_and_every_neighbour(bundled: vm.LanguageModel) -> None:
    shape, trace = table(bundled), bundled.trace("a cat and a dog and a bird")
    near = views.neighbours_view(trace, shape, 3)
    view = views.map_view(trace, shape, 3, near)
    assert view.ids[0] == trace.ids[3] and view.positions[0] == 3
    assert len(set(view.ids)) == len(view.ids)
    assert set(view.ids) == set(trace.ids) | set(near.ids.tolist())
    np.testing.assert_array_equal(view.points, shape.points[list(view.ids)])
    assert int(view.density.sum()) + view.outside == bundled.config.n_vocab
    for axis, edges in ((0, view.x_edges), (1, view.y_edges)):
        assert edges[0] < view.points[:, axis].min() and view.points[:, axis].max() < edges[-1]


def test_labels_on_the_map_cover_neither_dots_nor_each_other(bundled: vm.LanguageModel) -> None:
    shape, trace = table(bundled), bundled.trace("Tom and Mary saw a big red dog, a cat and 3 birds in the tree")
    view = views.map_view(trace, shape, 0, views.neighbours_view(trace, shape, 0))
    boxes = plane.label_boxes(view, 400, 370)
    assert len(boxes) == len(view.points) and boxes[0] is not None
    placed = [box.edges for box in boxes if box]
    assert len(placed) > len(boxes) // 2
    for n, a in enumerate(placed):
        assert not any(plane.overlap(a, b) for b in placed[n + 1 :])


@pytest.mark.parametrize("text", TEXTS)
def test_every_picture_can_be_drawn(bundled: vm.LanguageModel, text: str) -> None:
    shape, trace = table(bundled), bundled.trace(text)
    for token in {0, len(trace) - 1}:
        near = views.neighbours_view(trace, shape, token)
        view = views.map_view(trace, shape, token, near)
        picked = views.lookup_view(trace, shape, token)
        for figure in (
            lookup.draw_lookup(picked, LOOKUP).drawn(),
            matrix.draw_matrix(views.matrix_view(trace, token, ("token", "dimension"))).drawn(),
            vector.draw_vector(views.vector_view(trace, token), "dimension").drawn(),
            neighbours.draw_neighbours(near, {"cosine": "cosine", "id": "id"}).drawn(),
            plane.draw_map(view, PLANE).drawn(),
        ):
            drawn = figure.to_json()
            assert "<b>我爱" not in drawn and "\ufffd" not in drawn


def test_repeats_are_of_the_most_frequent_token(lm: vm.LanguageModel) -> None:
    trace = lm.trace("a cat and a dog and a bird")
    places = by_hand.repeats(trace)
    assert len(places) > 1 and len({trace.ids[p] for p in places}) == 1
    recorded = trace["embed.token"].numpy()
    for place in places:
        np.testing.assert_array_equal(recorded[place], recorded[places[0]])
    assert by_hand.repeats(lm.trace("The")) == []


def test_by_hand_gives_what_was_recorded(bundled: vm.LanguageModel) -> None:
    shape, trace = table(bundled), bundled.trace("The little girl")
    near = views.neighbours_view(trace, shape, 2)
    worked = by_hand.by_hand(trace, shape, 2, int(near.ids[0]))
    assert worked["product"] == worked["recorded"]
    assert float(worked["recorded"]) == pytest.approx(trace["embed.token"][2, int(worked["d"])].item(), abs=5e-5)
    assert float(worked["exact"]) == pytest.approx(float(near.cosines[0]), abs=1e-4)


def test_facts_count_the_parameters(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("The")
    facts = by_hand.facts(trace, table(bundled), 0)
    config = bundled.config
    assert facts["size"] == f"{config.n_vocab * config.d_model:,}"
    assert float(facts["scaled"]) == pytest.approx(trace["embed.token"][0].norm().item(), abs=0.01)
