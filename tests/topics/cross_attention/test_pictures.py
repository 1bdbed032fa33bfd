"""What the cross-attention page draws is the trace, for every encoder–decoder and for any lengths."""

from __future__ import annotations

import numpy as np
import pytest
import scenes
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.drawing import lines, maps, spans, strips, theme
from viz_model.drawing.heatmap import Pool
from viz_model.runs.derivation import derive
from viz_model.topics.attention import apart as by_hand
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.numbers.steps import steps_view
from viz_model.topics.cross_attention.pictures import decoding, wiring
from viz_model.topics.cross_attention.pictures import maps as every_head
from viz_model.topics.cross_attention.pictures import steps as query_steps
from viz_model.topics.cross_attention.pictures.decoding import draw_guesses
from viz_model.topics.cross_attention.pictures.heads import draw_heads

PAIRS = [config for config in variants() if config.kind == "encoder_decoder"]
LAYER, HEAD, QUERY = 1, 2, 3


@pytest.fixture(params=PAIRS, ids=describe)
def trace(request: pytest.FixtureRequest) -> vm.Trace:
    return run_both(language_model(request.param)).at("decoder")


def words(keys: tuple[str, ...]) -> dict[str, str]:
    return {key: f"<{key}>" for key in keys}


def rows_of(length: int, seed: int = 0) -> np.ndarray:
    """Some pattern [length + 5, length]."""
    weights = np.random.default_rng(seed).random((length + 5, length)) ** 4
    return np.asarray(weights / weights.sum(-1, keepdims=True))


@pytest.mark.parametrize("length", [1, 5, 28, 29, 90])
def test_lines_show_the_window_around_the_token_and_what_it_reads(length: int) -> None:
    pattern = rows_of(length)
    target, source = [f"t{i}" for i in range(length + 5)], [f"s{i}" for i in range(length)]
    for token in (0, length // 2, length + 4):
        view = lines.LinesView.of(pattern, target, source, token)
        rows = slice(view.first[0], view.first[0] + len(view.target))
        columns = slice(view.first[1], view.first[1] + len(view.source))
        np.testing.assert_array_equal(view.weights, pattern[rows, columns])
        assert view.target == tuple(target[rows]) and view.source == tuple(source[columns])
        assert view.target[view.selected] == f"t{token}"
        assert view.weights.shape == (min(length + 5, lines.MOST_LINES), min(length, lines.MOST_LINES))
        assert view.share == pytest.approx(view.weights[view.selected].sum())
        drawn = scenes.sent(lines.scene(view, "lines", "title", words(lines.WORDS)))
        named = {mark["id"]: mark for mark in drawn.marks()}
        for side, labels, first in zip(("target", "source"), (view.target, view.source), view.first, strict=True):
            for n, label in enumerate(labels):
                assert named[f"{side}.name.{first + n}"]["text"] == label
        for q, s in np.ndindex(view.weights.shape):
            line = named.get(f"line.{view.first[0] + q}.{view.first[1] + s}")
            assert (line is None) == (view.weights[q, s] < 0.02)
            if line is not None:
                assert line["thick"] == pytest.approx(0.6 + 7 * view.weights[q, s])
                ends = named[f"source.{view.first[1] + s}"], named[f"target.{view.first[0] + q}"]
                np.testing.assert_allclose(line["y"][:, 1], [box["y"] + box["height"] / 2 for box in ends], rtol=1e-6)
                assert (line.get("opacity", 1) > 0.3) == (view.first[0] + q == token), "the selected one's are strong"
        boxes = {n: named[f"target.{view.first[0] + n}"] for n in range(len(view.target))}
        assert max(boxes, key=lambda n: boxes[n]["opacity"]) == view.selected
        assert boxes[view.selected]["act"] == {"select": {"token": token}}
        assert all("act" not in mark for name, mark in named.items() if name.startswith("source."))


def test_no_other_window_holds_more() -> None:
    weights = rows_of(60)[7]
    shown = spans.window(weights, 10)
    assert shown.stop - shown.start == 10
    assert weights[shown].sum() == pytest.approx(max(weights[i : i + 10].sum() for i in range(51)))


@pytest.mark.parametrize("shape", [(3, 4, 9), (2, 64, 64), (2, 70, 9), (1, 9, 200)])
def test_maps_are_pooled_by_their_largest_weight(shape: tuple[int, int, int]) -> None:
    patterns = np.random.default_rng(1).random(shape)
    target, source = ([f"{side}{i}" for i in range(n)] for side, n in zip("ts", shape[1:], strict=True))
    view = every_head.EveryHead.of(patterns, target, source)
    assert max(view.patterns.shape[1:]) <= every_head.MOST_CELLS
    assert view.patterns.shape == (shape[0], len(view.target), len(view.source))
    for q in range(view.patterns.shape[1]):
        for s in range(view.patterns.shape[2]):
            rows, columns = (slice(i * pool, (i + 1) * pool) for i, pool in zip((q, s), view.pool, strict=True))
            np.testing.assert_allclose(view.patterns[:, q, s], patterns[:, rows, columns].max((1, 2)), rtol=1e-6)


def test_small_maps_are_the_pattern_itself(trace: vm.Trace) -> None:
    every = cross.patterns(trace, LAYER)
    view = every_head.EveryHead.of(every, cross.target_labels(trace), cross.source_labels(trace))
    assert view.pool == Pool()
    np.testing.assert_array_equal(view.patterns, every)
    site = f"decoder.blocks.{LAYER}.cross.pattern"
    drawn = maps.scene(every_head.maps(view, "head", ("from", "to"), site), "grid", "title", {"masked": "masked"})
    found = scenes.sent(drawn)
    assert found.panels() == [f"head.{head}" for head in range(len(every))]
    for head, panel in enumerate(found.panels()):
        assert found.panel(panel)["act"] == {"select": {"head": head}}
        assert found.mark("name", panel=panel)["text"] == f"head {head}"
        cells = found.mark("cells", panel=panel)
        np.testing.assert_array_equal(cells["values"], every[head])
        assert cells["names_of_rows"] == list(view.target) and cells["names_of_columns"] == list(view.source)
    for head, (which, _) in enumerate(found.cells()):
        assert which.at(1, 2) == (site, (head, 1, 2))


NAMES = {step: f"<{step}>" for step in (*query_steps.STEPS, "weighted")}


def test_the_steps_are_drawn_row_by_row(trace: vm.Trace) -> None:
    view = steps_view(trace, LAYER, HEAD, QUERY, "cross")
    *rows, bars = query_steps.step_strips(view, NAMES).strips
    expected = [view.products, *([view.scores] if trace.config.scale_scores else []), view.masked, view.pattern]
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(row.values, values)
    assert bars.look == "bars"
    np.testing.assert_allclose(bars.values, np.linalg.norm(view.pattern[:, None] * view.values, axis=-1), rtol=1e-5)


def test_hidden_cells_are_drawn_as_hidden_and_are_no_numbers_of_the_run(trace: vm.Trace) -> None:
    view = steps_view(trace, LAYER, HEAD, QUERY, "cross", cross.N_PADDING)
    found = scenes.sent(strips.scene(query_steps.step_strips(view, NAMES), "steps", "title", {"masked": "masked"}))
    (masked,) = [mark for mark in found.marks() if mark["kind"] == "cells" and "<masked>" in mark["name"]]
    np.testing.assert_array_equal(np.isneginf(masked["values"]), np.isneginf(view.mask))
    assert np.isneginf(masked["values"]).sum() == cross.N_PADDING and masked["written"]
    assert not list(found.cells()) and not any("where" in mark for mark in found.marks())


@pytest.mark.parametrize("n_padding", [0, 2])
def test_of_a_long_source_the_keys_of_most_weight_are_shown(n_padding: int) -> None:
    config = tiny_config(kind="encoder_decoder", n_context=64, start_id=0)
    trace = language_model(config).trace(ids=list(range(60)), target_ids=[0, 5, 6]).at("decoder")
    view = steps_view(trace, LAYER, HEAD, 2, "cross", n_padding)
    shown, drawn = view.shown(), query_steps.step_strips(view, NAMES)
    assert drawn.places == tuple(shown) and len(shown) == query_steps.MAX_WRITTEN
    seen = [key for key in shown if key < 60 - n_padding]
    assert len(shown) - len(seen) == (n_padding > 0)
    assert view.pattern[seen].min() == np.sort(view.pattern)[-len(seen)]


def test_bars_of_the_heads_are_the_lengths_of_what_they_write(trace: vm.Trace) -> None:
    lengths = np.linalg.norm(cross.written(trace, LAYER, QUERY).heads, axis=-1)
    heads = draw_heads(lengths, HEAD, {"head": "head", "length": "length"}).drawn().data[0]
    np.testing.assert_allclose(heads.y, lengths, rtol=1e-5)


def test_decoding_shows_the_shift_by_one(trace: vm.Trace) -> None:
    steps = cross.decoding(trace)
    own = tuple(step.guesses[0][0] for step in steps[:2])
    view = decoding.DecodingView.of(steps, own, QUERY, most=4)
    assert len(view.steps) == 4 and view.first + view.newest == QUERY
    assert view.steps[view.newest] == steps[QUERY]
    for before, after in zip(view.steps, view.steps[1:], strict=False):
        assert before.came == after.reads
    assert view.own == tuple(own[i] if i < 2 else None for i in range(view.first, view.first + 4))
    control = view.steps[0]._replace(reads=view.steps[0].reads._replace(text="<|fr|>"))
    drawn = decoding.draw_decoding(view._replace(steps=(control, *view.steps[1:])), words(decoding.COLUMNS)).drawn()
    assert "&lt;|fr|&gt;" in [said.text for said in drawn.layout.annotations]
    assert sum(shape.type == "line" for shape in drawn.layout.shapes) == 3
    assert len(drawn.data[0].x) == sum(2 + (step.came is not None) for step in view.steps) + sum(map(bool, view.own))
    guesses = draw_guesses(steps[QUERY], QUERY).drawn()
    assert [round(p, 6) for _, p in steps[QUERY].guesses] == [round(float(x), 6) for x in guesses.data[0].x]
    tokens, (bottom, top) = guesses.layout.yaxis, guesses.layout.yaxis.range
    assert list(tokens.ticktext) == [theme.plain(token.label) for token, _ in steps[QUERY].guesses]
    assert tokens.visible is not False and bottom > top, "named, the most probable one on top"


@pytest.mark.parametrize("depth", [1, 4, 12])
def test_the_wiring_reaches_every_block_that_is_drawn(depth: int) -> None:
    config = tiny_config(kind="encoder_decoder", n_layers=depth, n_encoder_layers=7, start_id=0)
    for layer in {0, depth // 2, depth - 1}:
        view = wiring.WiringView.of(config, layer, 9, 4)
        blocks = [block for block in view.decoder if block is not None]
        assert layer in blocks and blocks[0] == 0 and blocks[-1] == depth - 1
        assert view.encoder[-1] == 6 and None in view.encoder
        drawn = wiring.draw_wiring(view, words(wiring.WORDS)).drawn()
        arrows = [a for a in drawn.layout.annotations if a.showarrow]
        for role in ("key", "value"):
            assert sum(a.arrowcolor == theme.ROLES[role] for a in arrows) == len(blocks)
        assert sum(a.arrowcolor == theme.ROLES["query"] for a in arrows) == 1


def test_by_hand_leads_from_the_encoders_vectors_to_the_stream(trace: vm.Trace) -> None:
    key = int(steps_view(trace, LAYER, HEAD, QUERY, "cross").pattern.argmax())
    numbers = by_hand.parts(trace, LAYER, HEAD, QUERY, key, "cross")
    assert [number.site.rpartition(".")[2] for number in numbers] == ["scores", "masked", "pattern", "z", "out"]
    found = [derive(trace, number.site, number.at) for number in numbers]
    group = trace.config.kv_head(HEAD)
    found += [
        derive(trace, f"blocks.{LAYER}.cross.k", (group, key, 0)),
        derive(trace, f"blocks.{LAYER}.resid.cross", (QUERY, 0)),
    ]
    assert all(each.agrees for each in found)
