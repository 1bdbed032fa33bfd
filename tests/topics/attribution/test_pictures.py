"""The pictures of why: they hold the numbers they are made of, and label them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

from viz_model.config import ModelConfig
from viz_model.drawing.writing import signed
from viz_model.runs.trace import Trace
from viz_model.topics.attribution.numbers import attribution, by_hand, circuits, lens, views
from viz_model.topics.attribution.numbers.attribution import Part
from viz_model.topics.attribution.pictures.firing import draw_firing
from viz_model.topics.attribution.pictures.grid import draw_grid
from viz_model.topics.attribution.pictures.lens import draw_lens
from viz_model.topics.attribution.pictures.neurons import draw_neurons
from viz_model.topics.attribution.pictures.paths import draw_paths
from viz_model.topics.attribution.pictures.pushes import draw_pushes
from viz_model.topics.attribution.pictures.reads import draw_reads
from viz_model.topics.attribution.pictures.sum import draw_sum

WITH_LOGITS = [config for config in variants() if config.has_logits][::4]
WORDS = {
    name: name
    for name in (
        *("rest", "total", "axis", "layer", "head", "cross", "ffn", "up", "down", "position", "depth"),
        *("rank", "weight", "share", "value", "key"),
    )
}
every = pytest.mark.parametrize("config", WITH_LOGITS, ids=describe)


def asked(config: ModelConfig) -> tuple[Trace, attribution.Decomposition, attribution.Attribution]:
    trace = run_both(language_model(config)).at(config.sides[-1])
    found = attribution.decompose(trace, 3)
    return trace, found, attribution.of_logit(trace, found, 5, "average")


@every
def test_the_waterfall_ends_at_the_total(config: ModelConfig) -> None:
    _, _, found = asked(config)
    view = views.sum_view(found, 4)
    starts, lengths = view.steps()
    assert len(lengths) == 6 and view.n_rest == len(found.parts) - 4
    np.testing.assert_allclose(starts[1:5], (starts + lengths)[:4])
    assert starts[-1] == 0 and lengths[-1] == found.total
    assert (starts + lengths)[4] == pytest.approx(found.total, abs=1e-4)
    assert list(np.abs(view.values)) == sorted(np.abs(found.values), reverse=True)[:4]
    drawn = draw_sum(view, ["a<b", "b", "c", "d"], WORDS, view.shown[0]).drawn()
    assert list(drawn.data[0].x) == list(lengths)
    assert drawn.layout.yaxis.ticktext[0] == "<b>a&lt;b</b>"
    whole = views.sum_view(found, 10_000)
    assert whole.n_rest == 0 and len(whole.steps()[0]) == len(found.parts) + 1


@every
def test_the_grid_holds_every_head_and_layer(config: ModelConfig) -> None:
    _, _, found = asked(config)
    view = views.grid_view(found)
    n_attentions = 2 if config.kind == "encoder_decoder" else 1
    assert view.values.shape == (config.n_layers, n_attentions * config.n_heads + 1)
    assert view.values[1, -1] == found.of(Part("ffn", 1))
    assert view.values[0, config.n_heads - 1] == found.of(Part("head", 0, config.n_heads - 1, "attn"))
    groups = found.by_kind()
    assert view.values.sum() == pytest.approx(groups["attention"] + groups["ffn"])
    points = draw_grid(view, WORDS, (1, "attn", 0)).drawn().data[1]
    row = list(zip(points.y, points.x, strict=True)).index((1, view.values.shape[1] - 1))
    assert list(points.customdata[row]) == [1, "ffn", None]
    named = draw_grid(view, WORDS, None).drawn().layout.xaxis.ticktext
    assert named[0] == "0" and named[-1] == "ffn"


def test_pushes_are_the_extremes() -> None:
    trace, _, _ = asked(tiny_config())
    pushed = np.linspace(-1, 1, 101)
    view = views.pushes_view(trace, pushed, 98, 3)
    for found, ids in ((view.up, (100, 99, 98)), (view.down, (0, 1, 2))):
        assert [label for label, _ in found] == [trace.tokenizer.token(n).label for n in ids]
        np.testing.assert_allclose([value for _, value in found], pushed[list(ids)])
    assert view.rank == 3 and view.facts() == {"push": "+0.96", "rank": "3"}
    assert list(draw_pushes(view, WORDS).drawn().data[0].x) == [value for _, value in (*view.up, *view.down)]


@every
def test_the_lens_marks_what_is_own_and_what_is_final(config: ModelConfig) -> None:
    trace, _, _ = asked(config)
    places = views.part_of(len(trace), 3, 4)
    seen = lens.look(trace, range(trace.n_layers + 1), places)
    view = views.lens_view(trace, seen, 3)
    assert view.positions[view.selected] == 3 and view.final[:, -1].all()
    for row, place in enumerate(view.positions):
        assert (view.own[row] == (seen.ids[:, row] == trace.own_ids[place])).all()
    decided = view.seen.decided
    assert (view.final[:, decided:].mean(0) > 0.5).all() and (not decided or view.final[:, decided - 1].mean() <= 0.5)
    assert view.seen.own == tuple(view.own.sum(0)) and view.seen.final == tuple(view.final.sum(0))
    drawn = draw_lens(view, [str(depth) for depth in view.depths], WORDS).drawn()
    np.testing.assert_allclose(drawn.data[0].z, seen.probs.T, atol=1e-6)
    assert sum(text.startswith("<b>") for text in drawn.data[1].text) == view.final.sum()


@pytest.mark.parametrize(
    ("length", "position", "most", "expected"),
    [(5, 2, 12, range(5)), (20, 2, 6, range(6)), (20, 19, 6, range(14, 20)), (20, 10, 1, range(10, 11))],
)
def test_the_part_of_a_long_text_holds_the_position(length: int, position: int, most: int, expected: range) -> None:
    assert views.part_of(length, position, most) == expected


def test_paths_end_in_the_models_own_ranks() -> None:
    trace, _, _ = asked(tiny_config())
    top = int(trace["logits"][3].argmax())
    view = views.paths_view(trace, 3, [top, 7])
    assert view.facts()["rank_last"] == "1" and view.settled is not None
    drawn = draw_paths(view, ["0", "1", "2"], ["a", "b"], WORDS).drawn()
    assert [list(line.y) for line in drawn.data] == view.ranks.T.tolist()


def test_a_head_shows_its_largest_keys_in_order() -> None:
    reads = circuits.Reads(np.array([0.5, 0.1, 0.4]), np.array([1.0, 7.0, 2.0]), np.zeros(3), torch.zeros(1))
    view = views.reads_view(("a", "b", "c"), reads, 2)
    assert view.labels == ("a", "b") and view.n_keys == 3
    np.testing.assert_allclose(view.shares, [0.1, 0.7])
    drawn = draw_reads(view, WORDS).drawn()
    assert [list(bars.x) for bars in drawn.data] == [[0.5, 0.1], list(view.shares)]


def test_neurons_are_ranked_over_all_layers() -> None:
    added = np.array([[0.1, -3.0, 0.0], [2.0, 0.5, -0.2]])
    view = views.neurons_view(added, 3)
    assert list(zip(view.layers, view.numbers, strict=True)) == [(0, 1), (1, 0), (1, 1)]
    drawn = draw_neurons(view, lambda layer, number: f"{layer}.{number}", 1, "added").drawn()
    assert list(drawn.data[0].x) == [-3.0, 2.0, 0.5] and drawn.layout.yaxis.ticktext == ("0.1", "<b>1.0</b>", "1.1")


def test_a_neuron_is_shown_where_it_is_strongest_and_where_it_is_asked_about() -> None:
    trace, _, _ = asked(tiny_config())
    act = trace["blocks.1.ffn.act"][:, 8].numpy()
    weakest = int(np.abs(act).argmin())
    view = views.firing_view(trace, 1, 8, weakest, 3)
    assert len(view.values) == 3 and view.positions[view.selected] == weakest
    assert view.positions[view.most] == np.abs(act).argmax() and view.length == len(trace)
    np.testing.assert_array_equal(view.values, act[view.positions])
    assert list(draw_firing(view, "value").drawn().data[0].x) == list(view.values)


def test_by_hand_the_numbers_are_those_of_the_sum() -> None:
    _, way, found = asked(tiny_config())
    row = int(found.order()[0])
    worked = by_hand.part_by_hand(way.written[row].numpy(), found.directions[way.passed[row]].numpy())
    assert float(worked["product"]) == pytest.approx(found.values[row], abs=1e-4)
    assert by_hand.sum_by_hand(views.sum_view(found)).endswith(f"= {found.total:.3f}")
    table = by_hand.columns(found, {"part": "part", "layer": "layer", "value": "value"})
    assert len(table["part"]) == len(found.parts) and sum(table["value"]) == pytest.approx(found.total, abs=1e-4)


def test_signs_are_written_and_no_nought_is_negative() -> None:
    assert [signed(value) for value in (1.234, -1.234, -0.001, 0.0)] == ["+1.23", "−1.23", "+0.00", "+0.00"]
