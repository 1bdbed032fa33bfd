"""What the attention page draws is the trace, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
import scenes
from tiny_models import describe, language_model, run_both, variants

import viz_model as vm
from viz_model.config import Rope, YarnScaling
from viz_model.drawing import heatmap, maps, spans, strips
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.writing import short
from viz_model.runs.derivation import derive
from viz_model.topics.attention.numbers import layer, together, views
from viz_model.topics.attention.pictures import forms, grid, steps
from viz_model.topics.attention.pictures import together as pictures
from viz_model.topics.attention.sections import by_hand

LAYER, HEAD = 1, 2
AT = f"blocks.{LAYER}.attn."


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace("the cat sat on the mat")


def test_the_grid_holds_every_head(trace: vm.Trace) -> None:
    view = views.grid_view(trace, LAYER)
    future = np.triu(np.ones((len(trace), len(trace)), dtype=bool), k=1)
    np.testing.assert_array_equal(view.patterns, np.where(future, np.nan, trace[AT + "pattern"].numpy()))
    assert view.pool == 1 and view.labels == tuple(token.label for token in trace.tokens)


def test_a_long_text_is_pooled(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("once upon a time " * 60)
    view = views.grid_view(trace, 0)
    assert view.patterns.shape[-1] <= views.GRID_SIZE < len(trace)
    assert len(view.labels) == view.patterns.shape[-1]
    assert np.nanmax(view.patterns) == pytest.approx(trace["blocks.0.attn.pattern"].max().item())


@pytest.mark.parametrize("layers", [1, 40])
def test_coarser_maps_show_the_largest_weight_of_larger_squares(
    layers: int, bundled: vm.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = bundled.trace("once upon a time " * 60)
    monkeypatch.setattr(views, "FAR_CELLS", views.FAR_CELLS // layers)
    view = views.grid_view(trace, 1)
    small = views.coarser(trace, view)
    if layers == 1:
        assert small is None, "few maps have room as they are"
        return
    assert small is not None and small.pool > view.pool and small.pool % view.pool == 0
    side, length, pattern = small.patterns.shape[-1], len(trace), trace["blocks.1.attn.pattern"].numpy()
    assert (
        small.labels == heatmap.spans([token.label for token in trace.tokens], small.pool) and len(small.labels) == side
    )
    for row, column in np.ndindex(side, side):
        square = pattern[:, row * small.pool : (row + 1) * small.pool, column * small.pool : (column + 1) * small.pool]
        expected = square.max((1, 2)) if column <= row else np.full(len(pattern), np.nan)
        np.testing.assert_array_equal(small.patterns[:, row, column], expected)
    n_cells = trace.n_layers * int(np.isfinite(small.patterns).sum())
    assert length > side and n_cells <= 1.1 * views.FAR_CELLS


@pytest.fixture(params=variants(), ids=describe)
def any_trace(request: pytest.FixtureRequest) -> vm.Trace:
    """A run of a model of any variant, seen from its last stack."""
    return run_both(language_model(request.param), length=8).at(request.param.sides[-1])


NAMES = {name: name for name in (*steps.STEPS, "weighted")}
WORDS = {"masked": "masked"}


def of_strips(view: strips.StripsView) -> Scene:
    return strips.scene(view, "picture", "title", WORDS)


def test_the_grid_of_any_model_is_its_patterns_and_its_mask(any_trace: vm.Trace) -> None:
    view, config = views.grid_view(any_trace, LAYER), any_trace.config
    visible = any_trace.stack.visible(LAYER, len(any_trace), len(any_trace)).numpy()
    recorded = np.where(visible, any_trace[AT + "pattern"].numpy(), np.nan)
    np.testing.assert_allclose(view.patterns, recorded, atol=1e-6)
    assert [head for group in view.groups for head in group] == list(range(config.n_heads))
    assert len(view.groups) == config.n_kv_heads
    drawn = grid.maps(
        view, "head", lambda summary: f"first {summary.first:.3f}", "with group {}".format, ("from", "to")
    )
    found = scenes.sent(maps.scene(drawn, "grid", "title", WORDS))
    assert found.panels() == [f"head.{head}" for head in range(config.n_heads)]
    for head, panel in enumerate(found.panels()):
        np.testing.assert_allclose(found.mark("cells", panel=panel)["values"], recorded[head], atol=1e-6)
        assert found.mark("does", panel=panel)["text"] == f"first {view.summaries[head].first:.3f}"
        assert found.panel(panel)["act"] == {"select": {"head": head}}
        group = head * config.n_kv_heads // config.n_heads
        shares = [mark["text"] for mark in found.marks(panel=panel) if mark["id"] == "shares"]
        assert shares == ([f"with group {group}"] if config.n_kv_heads < config.n_heads else [])
    if not layer.sight(any_trace, LAYER).is_two_way:
        assert all(summary.next == 0 for summary in view.summaries)


def test_every_matrix_of_any_model_is_drawn_as_recorded(any_trace: vm.Trace) -> None:
    has_bias = any_trace.config.position.acts_on == "scores"
    names = layer.matrices(any_trace, LAYER)
    lacking = {"bias": not has_bias, "capped": any_trace.config.score_cap is None}
    assert names == tuple(name for name in layer.MATRICES if not lacking.get(name))
    for name in names:
        view = views.head_view(any_trace, LAYER, 1, 3, ("from", "to", "dimension"), name)
        recorded = any_trace[AT + name][1].numpy()
        shown = np.isfinite(view.values)
        np.testing.assert_allclose(view.values[shown], recorded[shown], atol=1e-6)
        hidden = np.isneginf(any_trace[AT + "mask"][1].numpy())
        np.testing.assert_array_equal(~shown, hidden if name in ("mask", "masked", "pattern") else False)


@pytest.mark.parametrize("query", [0, 2, -1])
def test_the_steps_of_any_model_follow_from_each_other(query: int, any_trace: vm.Trace) -> None:
    config, query, head = any_trace.config, query % len(any_trace), 2
    view = views.steps_view(any_trace, LAYER, head, query)
    group = head * config.n_kv_heads // config.n_heads
    q = any_trace[f"{AT}q{view.form}"][head, query].numpy()
    k, v = (any_trace[f"{AT}{name}"][group].numpy() for name in (f"k{view.form}", "v"))
    assert view.form == ("_rotated" if isinstance(config.position, Rope) else "_normed" if config.qk_norm else "")
    np.testing.assert_allclose(view.products, k @ q, rtol=1e-4, atol=1e-4)
    root = np.sqrt(config.d_head) if config.scale_scores else 1
    np.testing.assert_allclose(view.scores * root, view.products, rtol=1e-4, atol=1e-4)
    bias = 0 if view.bias is None else view.bias
    np.testing.assert_allclose(view.masked, view.scores + bias + view.mask, rtol=1e-4, atol=1e-4)
    assert (view.bias is not None) == (config.position.acts_on == "scores")
    exponentials = np.exp(view.masked - view.masked.max())
    np.testing.assert_allclose(view.pattern, exponentials / exponentials.sum(), atol=1e-5)
    np.testing.assert_allclose(view.pattern @ v, view.z, atol=1e-4)
    assert ("scores" in view.rows()) == config.scale_scores
    assert ("bias" in view.rows()) == ("masked_bias" in view.rows()) == (view.bias is not None)


def test_the_steps_are_drawn_row_by_row(any_trace: vm.Trace) -> None:
    view = views.steps_view(any_trace, LAYER, 1, 3)
    rows = view.rows()
    found = scenes.sent(of_strips(steps.step_strips(view, NAMES)))
    drawn = [found.mark(f"cells.{n}") for n in range(len(rows) + 1)]
    assert [row["name"] for row in drawn] == [f"{n}  {name}" for n, name in enumerate([*rows, "weighted"], 1)]
    assert [found.mark(f"name.{n}")["text"] for n in range(len(drawn))] == [short(row["name"], 26) for row in drawn]
    assert [row["look"] for row in drawn[-2:]] == ["share", "bars"]
    for row, values in zip(drawn, rows.values(), strict=False):
        np.testing.assert_allclose(row["values"], values, rtol=1e-5, atol=1e-5)
    masked = drawn[list(rows).index("masked_bias" if "masked_bias" in rows else "masked")]
    np.testing.assert_array_equal(np.isneginf(masked["values"]), np.isneginf(view.mask))


def test_by_hand_is_worked_out_for_any_model(any_trace: vm.Trace) -> None:
    config = any_trace.config
    view = views.steps_view(any_trace, LAYER, 1, 3)
    numbers = by_hand.parts(any_trace, LAYER, 1, 3, int(view.pattern.argmax()))
    expected = [view.scores[view.pattern.argmax()], view.masked.max(), view.pattern.max(), view.z[0]]
    for number, value in zip(numbers, [*expected, any_trace[f"{AT}out"][3, 0].item()], strict=True):
        found = derive(any_trace, number.site, number.at)
        assert found.agrees and found.value == pytest.approx(float(value), abs=1e-5)
    said = [key.removeprefix("attention.hand_") for number in numbers for key in number.words]
    assert said[:2] == [f"product{view.form}", "scale" if config.scale_scores else "no_scale"]
    assert ("bias" in said) == (view.bias is not None)
    assert said[-1] == ("heads" if config.has_out_bias else "heads_no_bias")


def test_the_forms_end_at_what_the_scores_are_made_of(any_trace: vm.Trace) -> None:
    config = any_trace.config
    view = views.forms_view(any_trace, LAYER, 1, 3, 2)
    expected = ["", *["_normed"] * config.qk_norm, *["_rotated"] * isinstance(config.position, Rope)]
    assert list(view.forms) == expected and list(view.notes) == expected[1:]
    np.testing.assert_allclose(view.products[-1], views.steps_view(any_trace, LAYER, 1, 3).products, atol=1e-5)
    for n, form in enumerate(view.forms):
        np.testing.assert_array_equal(view.queries[n], any_trace.head(f"{AT}q{form}", 1)[3].numpy())
        assert view.products[n, 2] == pytest.approx(float(view.queries[n] @ view.keys[n]), abs=1e-4)
    for form, note in view.notes.items():
        facts, n = view.facts(form), view.forms.index(form)
        assert float(facts["q_after"]) == pytest.approx(np.linalg.norm(view.queries[n]), abs=0.006)
        assert float(facts["low_after"]) <= float(facts["high_after"])
        if note == "_rotated":  # a turn keeps lengths, and the text says so
            assert float(facts["q_before"]) == pytest.approx(float(facts["q_after"]), abs=0.02)
    stretched = isinstance(config.position, Rope) and isinstance(config.position.scaling, YarnScaling)
    assert ("_stretched" in view.notes.values()) == stretched


def test_strips_of_all_forms_are_drawn_with_their_lengths(any_trace: vm.Trace) -> None:
    view = views.forms_view(any_trace, LAYER, 1, 3, 2)
    names = {letter + form: letter + form for form in view.forms for letter in "qk"}
    found = scenes.sent(of_strips(forms.form_strips(view, names, {"length": "length", "axis": "dimension"})))
    drawn = np.stack([found.mark(f"cells.{n}")["values"] for n in range(len(names))])
    np.testing.assert_allclose(drawn, np.concatenate([view.queries, view.keys]), rtol=1e-5, atol=1e-6)
    written = [float(found.mark(f"behind.{n}")["text"].removeprefix("length ")) for n in range(len(names))]
    np.testing.assert_allclose(written, np.linalg.norm(drawn, axis=-1), atol=0.006)
    tops = np.reshape([found.mark(f"cells.{n}")["top"] for n in range(len(names))], (2, -1))
    largest = np.abs(drawn).reshape(2, len(view.forms), -1).max(axis=(0, 2))
    np.testing.assert_allclose(tops, [largest, largest], err_msg="query and key of a form share a scale")


@pytest.mark.parametrize("token", [0, 20, 59])
def test_steps_of_a_long_text_show_the_keys_of_most_weight(token: int, bundled: vm.LanguageModel) -> None:
    trace = bundled.trace(ids=list(range(60)))
    view = views.steps_view(trace, LAYER, HEAD, token)
    shown = view.shown()
    assert len(shown) <= steps.MAX_WRITTEN and token in shown and (np.diff(shown) > 0).all()
    hidden = [key for key in shown if key > token]
    assert hidden == ([token + 1] if token < 59 else [])
    left_out = np.setdiff1d(np.arange(token + 1), shown)
    others = [key for key in shown if key < token]
    if len(left_out):
        assert view.pattern[left_out].max() <= view.pattern[others].min()
    picture = steps.step_strips(view, NAMES)
    assert picture.places == tuple(shown) and picture.columns == tuple(trace.tokens[key].label for key in shown)


def test_a_very_long_text_is_drawn_around_the_token() -> None:
    assert spans.around(3, 10, 256) == slice(0, 10)
    for token in (0, 300, 999):
        window = spans.around(token, 1000, views.LARGEST)
        assert window.stop - window.start == views.LARGEST and window.start <= token < window.stop


@pytest.mark.parametrize("matrix", ["scores", "mask", "masked", "pattern"])
def test_the_large_head_is_one_of_the_four_matrices(matrix: str, trace: vm.Trace) -> None:
    view = views.head_view(trace, LAYER, HEAD, 3, ("from", "to", "dimension"), matrix)
    recorded = trace[AT + matrix][HEAD].numpy()
    future = np.triu(np.ones_like(recorded, dtype=bool), k=1)
    np.testing.assert_array_equal(view.values[~future], recorded[~future])
    if matrix == "pattern":
        assert np.isnan(view.values[future]).all()
    else:
        np.testing.assert_array_equal(view.values[future], recorded[future])


def test_masked_cells_are_drawn_as_masked_not_as_zero(trace: vm.Trace) -> None:
    view = views.head_view(trace, LAYER, HEAD, 3, ("from", "to", "dimension"), "masked")
    values, mask = heatmap.draw(view).drawn().data
    future = np.triu(np.ones_like(view.values, dtype=bool), k=1)
    assert np.isnan(values.z[future]).all() and np.isfinite(values.z[~future]).all()
    assert (mask.z[future] == 1).all() and np.isnan(mask.z[~future]).all()


@pytest.mark.parametrize("query", [0, 3, -1])
def test_the_steps_are_the_rows_of_the_trace(query: int, trace: vm.Trace) -> None:
    query %= len(trace)
    view = views.steps_view(trace, LAYER, HEAD, query)
    q, k, v = (trace[AT + name][HEAD].numpy() for name in "qkv")
    np.testing.assert_allclose(view.products, k @ q[query], atol=1e-6)
    np.testing.assert_allclose(view.scores * np.sqrt(trace.config.d_head), view.products, atol=1e-5)
    np.testing.assert_array_equal(view.pattern, trace[AT + "pattern"][HEAD, query].numpy())
    np.testing.assert_allclose(view.pattern @ v, view.z, atol=1e-6)
    assert np.isneginf(view.masked[query + 1 :]).all()


def test_the_bars_are_the_lengths_of_the_weighted_values(trace: vm.Trace) -> None:
    view = views.steps_view(trace, LAYER, HEAD, len(trace) - 1)
    bars = steps.step_strips(view, NAMES).strips[-1]
    expected = np.linalg.norm(view.pattern[:, None] * view.values, axis=-1)
    np.testing.assert_allclose(bars.values, expected, rtol=1e-5)


def test_a_head_as_matrices_follows_the_paper(any_trace: vm.Trace) -> None:
    """Equation 1 of Vaswani et al. 2017, from the matrices as they are drawn, for every kind of model."""
    config, n = any_trace.config, len(any_trace)
    drawn = {}
    for name in layer.matrices(any_trace, LAYER, layer.CHAIN):
        view = views.head_view(any_trace, LAYER, 1, 3, ("from", "to", "dimension"), name)
        drawn[name] = view.values
        assert view.values.shape == ((n, config.d_head) if name in views.VECTORS else (n, n))
        assert len(view.rows) == n and len(view.columns) == view.values.shape[1]
    np.testing.assert_allclose(drawn["products"], drawn["q"] @ drawn["k"].T, rtol=1e-4, atol=1e-4)
    root = np.sqrt(config.d_head) if config.scale_scores else 1
    np.testing.assert_allclose(drawn["scores"], drawn["products"] / root, rtol=1e-4, atol=1e-4)
    assert set(np.unique(drawn["mask"])) <= {0, -np.inf}
    np.testing.assert_allclose(drawn["masked"], drawn["scores"] + drawn.get("bias", 0) + drawn["mask"], atol=1e-4)
    weights = np.exp(drawn["masked"] - drawn["masked"].max(-1, keepdims=True))
    pattern = np.nan_to_num(drawn["pattern"])
    np.testing.assert_allclose(pattern, weights / weights.sum(-1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(drawn["z"], pattern @ drawn["v"], atol=1e-4)


def test_the_heads_side_by_side_make_the_output(any_trace: vm.Trace) -> None:
    """The concatenation times W_O, and the sum of what the heads write, are what the run has."""
    config, seen = any_trace.config, together.together(any_trace, LAYER, 3)
    bias = 0 if seen.bias is None else seen.bias
    assert (seen.bias is not None) == config.has_out_bias
    np.testing.assert_allclose(seen.mixed.ravel() @ seen.w_o.T + bias, seen.out, atol=1e-4)
    np.testing.assert_allclose(seen.written.sum(0) + bias, seen.out, atol=1e-4)
    row = pictures.concatenation(seen.mixed, "z", "head", "length", f"{AT}z", 3)
    assert row.parts == tuple((str(head), config.d_head) for head in range(config.n_heads))
    np.testing.assert_array_equal(row.strips[0].values, seen.mixed.ravel())
    for column in (0, config.d_head, config.n_heads * config.d_head - 1):
        assert row.strips[0].cells is not None
        site, place = row.strips[0].cells.at(0, column) or ("", ())
        assert derive(any_trace, site, place).value == pytest.approx(row.strips[0].values[column])
    matrix = pictures.output_matrix(seen.w_o, config.n_heads, ("out", "in"))
    assert sum(count for _, count in matrix.parts) == len(matrix.columns)
    shown, rest = seen._replace(written=np.repeat(seen.written, 5, 0)).parts()
    assert len(shown) == together.MOST_HEADS and rest is not None
    np.testing.assert_allclose(sum(shown.values()) + rest, 5 * seen.written.sum(0), atol=1e-4)


@pytest.mark.parametrize(("d_model", "n_heads"), [(512, 8), (1024, 16), (4096, 32)])
def test_a_large_output_matrix_is_pooled_within_its_heads(d_model: int, n_heads: int) -> None:
    w_o = np.random.default_rng(0).normal(size=(d_model, d_model)).astype(np.float32)
    view = pictures.output_matrix(w_o, n_heads, ("out", "in"))
    assert len(view.strips) * len(view.columns) <= heatmap.MOST_CELLS
    (width,) = {count for _, count in view.parts}
    assert len(view.columns) == width * n_heads and view.pool.columns * width == d_model // n_heads
    first = view.strips[0].values[0]
    assert abs(first) == np.abs(w_o[: view.pool.rows, : view.pool.columns]).max()


def test_a_mask_says_what_it_adds_and_has_no_scale(trace: vm.Trace) -> None:
    axes = ("from", "to", "dimension")
    for name in layer.matrices(trace, LAYER):
        view = views.head_view(trace, LAYER, HEAD, 3, axes, name)
        found = scenes.sent(of_strips(strips.matrix(view, written=True)))
        cells = found.mark("cells")
        assert cells["written"] and cells.get("hidden", "−∞") == "−∞"
        assert any(mark["id"] == "scale" for mark in found.marks()) == (name != "mask")
        if name == "mask":
            numbers = cells["values"]
            assert set(np.unique(numbers[np.isfinite(numbers)])) == {0.0} and np.isneginf(numbers).any()
