"""What the cross-attention page draws is the trace, for every encoder–decoder and for any lengths."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.drawing import lines, spans, strips, theme
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.numbers.by_hand import by_hand
from viz_model.topics.cross_attention.pictures import decoding, maps, wiring
from viz_model.topics.cross_attention.pictures import steps as steps_drawn
from viz_model.topics.cross_attention.pictures import sum as sums
from viz_model.topics.cross_attention.pictures.guesses import draw_guesses
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
        header, weights = lines.scene(view, words(lines.WORDS))
        assert weights.shape == (len(header["target"]), len(header["source"]))
        assert header["target"][header["selected"]]["position"] == token


def test_no_other_window_holds_more() -> None:
    weights = rows_of(60)[7]
    shown = spans.window(weights, 10)
    assert shown.stop - shown.start == 10
    assert weights[shown].sum() == pytest.approx(max(weights[i : i + 10].sum() for i in range(51)))


@pytest.mark.parametrize("shape", [(3, 4, 9), (2, 64, 64), (2, 70, 9), (1, 9, 200)])
def test_maps_are_pooled_by_their_largest_weight(shape: tuple[int, int, int]) -> None:
    patterns = np.random.default_rng(1).random(shape)
    target, source = ([f"{side}{i}" for i in range(n)] for side, n in zip("ts", shape[1:], strict=True))
    view = maps.MapsView.of(patterns, target, source)
    assert max(view.patterns.shape[1:]) <= maps.MOST_CELLS
    assert view.patterns.shape == (shape[0], len(view.target), len(view.source))
    for q in range(view.patterns.shape[1]):
        for s in range(view.patterns.shape[2]):
            rows, columns = (slice(i * pool, (i + 1) * pool) for i, pool in zip((q, s), view.pools, strict=True))
            np.testing.assert_allclose(view.patterns[:, q, s], patterns[:, rows, columns].max((1, 2)), rtol=1e-6)
    large = maps.large(view, shape[1] - 1, "site", ("target", "source"))
    assert large.selected_row == len(view.target) - 1
    drawn = strips.matrix(large)
    assert (len(drawn.strips), len(drawn.columns)) == (len(view.target), len(view.source))


def test_small_maps_are_the_pattern_itself(trace: vm.Trace) -> None:
    every = cross.patterns(trace, LAYER)
    view = maps.MapsView.of(every, cross.target_labels(trace), cross.source_labels(trace))
    assert view.pools == (1, 1)
    np.testing.assert_array_equal(view.patterns, every)
    header, values = maps.maps_scene(view, HEAD, words(maps.WORDS))
    assert values.shape == (header["heads"], len(header["target"]), len(header["source"])) == every.shape


def drawn_steps(trace: vm.Trace, steps: cross.Steps, **options: Any) -> strips.StripsView:
    return steps_drawn.step_strips(steps, cross.source_labels(trace), words(steps_drawn.STEPS), **options)


def test_the_steps_are_drawn_row_by_row(trace: vm.Trace) -> None:
    steps = cross.steps(trace, LAYER, HEAD, QUERY)
    scaled = trace.config.scale_scores
    *rows, bars = drawn_steps(trace, steps, scaled=scaled).strips
    expected = [steps.products, *([steps.scores] if scaled else []), steps.masked, steps.pattern]
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(row.values, values)
    assert bars.look == "bars"
    np.testing.assert_array_equal(bars.values, steps.fetched)
    values, names, columns = steps_drawn.steps_table(steps, words(steps_drawn.STEPS), cross.source_labels(trace))
    assert values.shape == (len(names), len(columns))


def test_hidden_cells_are_drawn_as_hidden(trace: vm.Trace) -> None:
    steps = cross.steps(trace, LAYER, HEAD, QUERY, padded=True)
    header, numbers = strips.scene(drawn_steps(trace, steps, scaled=True), {})
    (masked,) = [n for n, row in enumerate(header["rows"]) if "<mask>" in row["name"]]
    np.testing.assert_array_equal(np.isnan(numbers[masked]), np.isneginf(steps.mask))
    assert np.isnan(numbers[masked]).sum() == cross.N_PADDING and header["written"]


@pytest.mark.parametrize("padded", [False, True])
def test_a_long_source_is_cut_to_what_is_read_or_to_the_padding(padded: bool) -> None:
    config = tiny_config(kind="encoder_decoder", n_context=64, start_id=0)
    trace = language_model(config).trace(ids=list(range(60)), target_ids=[0, 5, 6]).at("decoder")
    steps = cross.steps(trace, LAYER, HEAD, 2, padded=padded)
    drawn = drawn_steps(trace, steps, scaled=True)
    shown = slice(36, 60) if padded else spans.window(steps.fetched, steps_drawn.MOST_COLUMNS)
    np.testing.assert_array_equal(drawn.strips[0].values, steps.products[shown])
    np.testing.assert_array_equal(drawn.strips[-1].values, steps.fetched[shown])
    assert drawn.places == tuple(range(60))[shown] and len(drawn.columns) == steps_drawn.MOST_COLUMNS
    assert drawn.strips[-1].values.max() == steps.fetched.max() or padded


def test_the_sum_shows_a_strip_of_its_own_where_a_norm_follows(trace: vm.Trace) -> None:
    written, norm_at = cross.written(trace, LAYER, QUERY), trace.config.norm_at
    drawn = sums.sum_strips(written, words(sums.WORDS), "dimension", norm_at)
    expected = [written.before, written.out, written.before + written.out, written.after]
    if norm_at == "pre":
        del expected[2]
    assert len({strip.top for strip in drawn.strips}) == 1, "one scale, or the sum could not be checked by eye"
    for strip, values in zip(drawn.strips, expected, strict=True):
        np.testing.assert_allclose(strip.values, values, atol=1e-6)
        assert f"{np.linalg.norm(values):.2f}" in strip.behind
    heads = draw_heads(written, HEAD, words(sums.WORDS)).data[0]
    np.testing.assert_allclose(heads.y, np.linalg.norm(written.heads, axis=-1), rtol=1e-5)


def test_decoding_shows_the_shift_by_one(trace: vm.Trace) -> None:
    steps = cross.decoding(trace)
    own = tuple(step.guesses[0][0] for step in steps[:2])
    view = decoding.DecodingView.of(steps, own, QUERY, most=4)
    assert len(view.steps) == 4 and view.first + view.newest == QUERY
    assert view.steps[view.newest] == steps[QUERY]
    for before, after in zip(view.steps, view.steps[1:], strict=False):
        assert before.came == after.reads
    assert view.own == tuple(own[i] if i < 2 else None for i in range(view.first, view.first + 4))
    drawn = decoding.draw_decoding(view, words(decoding.COLUMNS))
    assert sum(shape.type == "line" for shape in drawn.layout.shapes) == 3
    assert len(drawn.data[0].x) == sum(2 + (step.came is not None) for step in view.steps) + sum(map(bool, view.own))
    assert [round(p, 6) for _, p in steps[QUERY].guesses] == [
        round(float(x), 6) for x in draw_guesses(steps[QUERY], QUERY).data[0].x
    ]


@pytest.mark.parametrize("depth", [1, 4, 12])
def test_the_wiring_reaches_every_block_that_is_drawn(depth: int) -> None:
    config = tiny_config(kind="encoder_decoder", n_layers=depth, n_encoder_layers=7, start_id=0)
    for layer in {0, depth // 2, depth - 1}:
        view = wiring.WiringView.of(config, layer, 9, 4)
        blocks = [block for block in view.decoder if block is not None]
        assert layer in blocks and blocks[0] == 0 and blocks[-1] == depth - 1
        assert view.encoder[-1] == 6 and None in view.encoder
        drawn = wiring.draw_wiring(view, words(wiring.WORDS))
        arrows = [a for a in drawn.layout.annotations if a.showarrow]
        for role in ("key", "value"):
            assert sum(a.arrowcolor == theme.ROLES[role] for a in arrows) == len(blocks)
        assert sum(a.arrowcolor == theme.ROLES["query"] for a in arrows) == 1


def sides(formula: str) -> tuple[float, float]:
    """Both ends of a sum of products written in LaTeX."""
    left, right = formula.replace("\\cdot", "*").split("=")
    assert re.fullmatch(r"[-+*(). \d]+", left)
    return float(eval(left)), float(right)


def test_by_hand_comes_out_at_what_was_recorded(trace: vm.Trace) -> None:
    said, config = by_hand(trace, LAYER, HEAD, QUERY), trace.config
    steps, written = cross.steps(trace, LAYER, HEAD, QUERY), cross.written(trace, LAYER, QUERY)
    key = int(steps.pattern.argmax())
    # The factors are written with three digits: what comes of them is as exact as they are.
    assert sides(f"{said['terms']} + {said['rest']} = {said['product']}") == pytest.approx(
        (steps.products[key],) * 2, abs=0.03
    )
    assert float(said["product"]) / (float(said["root"]) if config.scale_scores else 1) == pytest.approx(
        float(said["score"]), abs=2e-4
    )
    assert float(said["exponential"]) / float(said["total"]) == pytest.approx(float(said["weight"]), abs=2e-4)
    assert sides(f"{said['mixed']} = {said['z0']}") == pytest.approx((float(said["recorded"]),) * 2, abs=0.01)
    assert sides(f"{said['writes']} + {said['bias']} = {said['out']}") == pytest.approx((written.out[0],) * 2, abs=0.01)
    assert sides(f"{said['before']} + {said['added']} = {said['sum']}") == pytest.approx(
        (written.before[0] + written.out[0],) * 2, abs=2e-4
    )
    assert float(said["after"]) == pytest.approx(written.after[0], abs=1e-4)
    assert all(float(value) < 1e-5 for name, value in said.items() if name.startswith("off_"))
