"""Views of positions that are added: equal to the trace, and waves equal to the formula of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny_models import describe, language_model, random_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.numbers import by_hand, views
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.pictures.similarity import draw_by_distance, draw_similarity
from viz_model.topics.position.pictures.sum import draw_sum, draw_sums
from viz_model.topics.position.pictures.waves import draw_waves

WORDS = {"pair": "pair", "dimension": "dimension", "beyond": "<b>beyond</b>", "axis": "position"}
HOSTILE = "<b>a</b> $x$"
ADDED = [c for c in variants() if isinstance(c.position, choices.Sinusoidal | choices.Learned)]
WAVES = [c for c in ADDED if isinstance(c.position, choices.Sinusoidal)]


@pytest.fixture
def trace(model: Transformer) -> Trace:
    return record(model, story_tokenizer(), [5, 9, 3, 7, 11, 2])


def test_recorded_values_lie_on_the_curves(trace: Trace) -> None:
    for pair in (0, 5, 11):
        view = views.waves_view(trace, 2, pair)
        at = trace["embed.position"].numpy()
        assert np.array_equal(view.recorded, at[:, 2 * pair : 2 * pair + 2])
        for column, curve in enumerate((view.sine, view.cosine)):
            between = np.interp(np.arange(len(trace)), view.at, curve)
            assert np.allclose(between, view.recorded[:, column], atol=0.01)


def test_waves_are_those_of_the_paper(config: ModelConfig) -> None:
    angle = 7.5 / 10_000 ** (2 * 3 / config.d_model)
    row = analysis.waves(np.array([7.5]), config.d_model, 10_000.0)[0]
    assert row[6:8] == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)
    length = analysis.wavelength(config, 3)
    once, again = analysis.waves(np.array([1.0, 1.0 + length]), config.d_model, 10_000.0)
    assert once[6:8] == pytest.approx(again[6:8], abs=1e-6)


@pytest.mark.parametrize("variant", WAVES, ids=describe)
def test_curves_of_either_layout_pass_through_the_recorded_values(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        for pair in (0, 4, 11):
            view = views.waves_view(trace, 1, pair)
            for column, curve in zip(view.columns, (view.sine, view.cosine), strict=True):
                recorded = trace["embed.position"][:, column].numpy()
                np.testing.assert_allclose(np.interp(np.arange(len(trace)), view.at, curve), recorded, atol=0.01)
            facts, angle = by_hand.wave_facts(trace, 1, pair), 1 / 10_000 ** (2 * pair / variant.d_model)
            assert float(facts["recorded_sine"]) == pytest.approx(math.sin(angle), abs=1e-4)
            assert float(facts["recorded_cosine"]) == pytest.approx(math.cos(angle), abs=1e-4)
            sum_ = by_hand.row_by_hand(trace, 1, view.columns[0])
            total = float(sum_["embedding"]) + float(facts["recorded_sine"])
            assert total == pytest.approx(float(sum_["sum"]), abs=2e-4)


@pytest.mark.parametrize("variant", ADDED, ids=describe)
def test_strips_add_up_to_what_the_first_block_or_its_norm_reads(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        view = views.sum_view(trace, 2)
        np.testing.assert_allclose(view.strips[:-1].sum(0), view.strips[-1], atol=1e-5)
        assert ("embed.segment" in view.sites) == bool(variant.n_segments)
        reads = view.strips[-1] if view.normed is None else view.normed
        assert np.array_equal(reads, trace["embed.out"][2].numpy())
        assert (view.normed is not None) == variant.embedding_norm
        matrices = views.sum_views(trace, 2, ("token", "dimension"))
        assert all(np.array_equal(m.values[2], row) for m, row in zip(matrices, view.strips, strict=True))
        figure = draw_sum(view, tuple("abcd"[: len(view.sites)]), "dimension", (0, 1)).drawn()
        assert sum(part.type == "heatmap" for part in figure.data) == len(view.sites)


@pytest.mark.parametrize("variant", [c for c in ADDED if isinstance(c.position, choices.Learned)], ids=describe)
def test_learned_rows_are_the_table_and_the_waves_are_not(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        table = trace.stack.position.get_parameter("table.weight").numpy()
        view = views.learned_view(trace)
        assert np.array_equal(view.trained, table[: len(trace)])
        np.testing.assert_allclose(np.linalg.norm(view.waves, axis=-1), view.wave_length, rtol=1e-5)
        hand = by_hand.row_by_hand(trace, 3, 5)
        assert hand["value"] == f"{table[3, 5]:.4f}"
        assert float(hand["embedding"]) + float(hand["value"]) == pytest.approx(float(hand["sum"]), abs=2e-4)


def test_learned_rows_are_compared_over_the_whole_context() -> None:
    trace = run_both(language_model(tiny_config(position=choices.Learned())))
    view = views.similarity_view(trace, 0)
    table = trace.stack.position.get_parameter("table.weight").numpy()
    cosine = analysis.similarity(table)
    assert len(view.distance) == trace.config.n_context == 16
    assert view.low[3] == pytest.approx(np.diagonal(cosine, 3).min(), abs=1e-6)
    assert view.high[3] == pytest.approx(np.diagonal(cosine, 3).max(), abs=1e-6)
    assert view.spread > 0.1  # random rows are not equally alike at equal distances
    paper = analysis.waves(np.arange(16), 24, 10_000.0)
    assert view.waves[3] == pytest.approx(analysis.similarity(paper)[2, 5], abs=1e-5)


def test_pairs_at_the_ends_have_one_neighbour(trace: Trace) -> None:
    fastest, slowest = views.waves_view(trace, 0, 0), views.waves_view(trace, 0, 11)
    assert fastest.faster is None and fastest.slower is not None
    assert slowest.slower is None and slowest.faster is not None


@pytest.mark.parametrize("token", [0, 30, 99, 119])
def test_long_texts_show_the_positions_around_the_selected_one(token: int) -> None:
    model = random_model(tiny_config(n_context=120))
    trace = record(model, story_tokenizer(), [n % 101 for n in range(120)])
    view = views.waves_view(trace, token, 0)
    assert len(view.labels) == len(view.recorded) == views.WINDOW
    assert view.start <= token < view.start + views.WINDOW
    assert view.at[0] < view.start and view.at[-1] > view.start + views.WINDOW - 1
    whole = views.waves_view(trace, token, 0, whole_context=True)
    assert (whole.start, len(whole.labels)) == (0, 120) and whole.at[-1] > 120


def test_similarity_depends_on_the_distance_alone(trace: Trace) -> None:
    view = views.similarity_view(trace, 0)
    assert view.cosine.shape == (6, 6) and len(view.distance) == trace.model.config.n_context
    assert np.allclose(np.diagonal(view.cosine), 1, atol=1e-6)
    assert np.allclose(view.cosine[0], view.distance[:6], atol=1e-5)
    assert view.spread < 1e-5
    assert view.at(1) == pytest.approx(view.cosine[3, 4], abs=1e-5)


def test_by_distance_reports_a_spread_where_there_is_one() -> None:
    similarities = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.7], [0.2, 0.7, 1.0]])
    distances = analysis.by_distance(similarities)
    assert distances.low == pytest.approx([1, 0.5, 0.2])
    assert distances.high == pytest.approx([1, 0.7, 0.2])
    assert distances.mean == pytest.approx([1, 0.6, 0.2])


def test_third_strip_is_the_sum_of_the_others(trace: Trace) -> None:
    view = views.sum_view(trace, 4)
    assert np.allclose(view.strips[0] + view.strips[1], view.strips[2], atol=1e-6)
    for site, strip in zip(view.sites, view.strips, strict=True):
        assert np.array_equal(strip, trace[site][4].numpy())
    assert view.limit == np.abs(view.strips).max()


def test_long_matrices_are_thinned_out() -> None:
    model = random_model(tiny_config(n_context=300, d_model=240))
    trace = record(model, story_tokenizer(), [n % 101 for n in range(300)])
    view = views.matrix_view(trace, "embed.position", 299, ("token", "dimension"))
    assert view.values.size <= views.MAX_CELLS
    step = 300 // len(view.values)
    assert step > 1 and np.array_equal(view.values, trace["embed.position"].numpy()[::step])
    assert len(view.rows) == len(view.values) and view.selected_row == 299 // step


def test_the_textbook_case_is_right_where_a_tutorial_slips() -> None:
    hand = by_hand.textbook()
    assert hand["textbook_2"] == "0.0099998"
    assert (hand["textbook_0"], hand["textbook_1"], hand["textbook_3"]) == ("0.8415", "0.5403", "0.99995")


@pytest.mark.parametrize("text", ["a", HOSTILE, "hello " * 400])
def test_everything_is_drawn_and_labels_are_escaped(text: str, bundled: vm.LanguageModel) -> None:
    trace = bundled.trace(text)
    token = len(trace) - 1
    axes = ("token", "dimension")
    similarity = views.similarity_view(trace, token)
    matrix = views.matrix_view(trace, "embed.position", token, axes, limit=1.0)
    figures = [
        *(draw_waves(views.waves_view(trace, token, 7, whole_context=w), WORDS).drawn() for w in (False, True)),
        draw_matrix(matrix, (14, 15)).drawn(),
        draw_similarity(similarity, axes).drawn(),
        draw_by_distance(similarity, axes).drawn(),
        draw_by_distance(similarity, axes, ("a", "b", "c")).drawn(),
        draw_sum(views.sum_view(trace, token), ("a", "b", "c"), "dimension", (14, 15)).drawn(),
        draw_sums((matrix,) * 3, ("a", "b", "c"), "dimension", (3, 70)).drawn(),
    ]
    for figure in figures:
        drawn = figure.to_json()
        assert "<b>a" not in drawn and "<b>beyond" not in drawn


def test_one_frame_round_neighbours_and_one_each_round_columns_apart(trace: Trace) -> None:
    matrix = views.matrix_view(trace, "embed.position", 1, ("token", "dimension"))

    def frames(columns: tuple[int, ...]) -> list[tuple[float, float]]:
        shapes = draw_matrix(matrix, columns).drawn().layout.shapes
        return [(shape.x0, shape.x1) for shape in shapes[1:]]  # the first is round the chosen row

    assert frames((4, 5)) == [(3.5, 5.5)]
    assert frames((4, 16)) == [(3.5, 4.5), (15.5, 16.5)]
