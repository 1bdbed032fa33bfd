"""The views of the page on cost, and that drawing them shows their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_models import language_model, run_both, tiny_config

from viz_model.drawing.writing import big, duration, small
from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.topics.cost.numbers import by_hand, counted
from viz_model.topics.cost.numbers.measured import PARTS, Reading
from viz_model.topics.cost.pictures.by_length import CurvesView, GeneratedView, draw_curves, draw_generated
from viz_model.topics.cost.pictures.common import FACTORS, SHARES
from viz_model.topics.cost.pictures.kinds import KindsView, draw_kinds
from viz_model.topics.cost.pictures.shares import SharesView, draw_shares
from viz_model.topics.cost.pictures.times import TimesView, draw_memory, draw_recurrent, draw_times

WORDS = {
    name: name
    for name in (
        *SHARES,
        *PARTS,
        *counted.Multiplications._fields,
        *("visible", "tokens", "share", "length", "multiplications", "here", "time", "bytes", "computed"),
        *("cached", "uncached", "layer", "heads", "entropy"),
    )
}
CONFIG = tiny_config(d_model=32, n_heads=4, d_ffn=128)


def readings(n: int = 5) -> list[Reading]:
    powers = {"projections": 1.0, "ffn": 1.0, "textbook": 2.0, "fused": 2.0, "recurrent": 1.0}
    scale = {"projections": 1e-6, "ffn": 4e-6, "textbook": 2e-8, "fused": 1e-8, "recurrent": 3e-6}
    return [
        Reading(16 << k, part, scale[part] * (16 << k) ** powers[part], 3 + k % 3, 100 * (16 << k))
        for k in range(n)
        for part in PARTS
    ]


def test_shares_are_parts_of_the_count() -> None:
    view = SharesView.of(CONFIG, "decoder", 7)
    assert view.lengths == (7, 70, 700)
    assert "cross" not in view.parts
    assert view.total.tolist() == [counted.count(CONFIG, "decoder", n).total for n in view.lengths]
    assert view.parts["pairs"][2] == 10_000 * view.parts["pairs"][0]
    assert view.parts["ffn"][2] == 100 * view.parts["ffn"][0]
    figure = draw_shares(view, WORDS).drawn()
    np.testing.assert_allclose(np.sum([bar.x for bar in figure.data], axis=0), 100)


def test_the_lines_meet_where_the_diamond_stands() -> None:
    view = CurvesView.of(CONFIG, "decoder", 7)
    assert view.passes == 4 * CONFIG.d_model
    at = [np.exp(np.interp(np.log(view.passes), np.log(view.lengths), np.log(view.parts[p]))) for p in ("pairs", "ffn")]
    assert at[0] == pytest.approx(at[1], rel=0.02)
    figure = draw_curves(view, WORDS).drawn()
    diamond = next(trace for trace in figure.data if trace.marker.symbol == "diamond")
    assert diamond.y[0] == pytest.approx(at[1])
    names = [trace.name for trace in figure.data]
    assert "visible" in names and (view.visible <= view.parts["pairs"]).all()
    encoder = tiny_config(kind="encoder")
    figure = draw_curves(CurvesView.of(encoder, "encoder", 7), WORDS).drawn()
    assert "visible" not in [trace.name for trace in figure.data]  # it hides nothing


def test_a_source_grows_with_its_target() -> None:
    config = tiny_config(kind="encoder_decoder", start_id=0)
    view = SharesView.of(config, "decoder", 4, 6)
    assert view.parts["cross"].tolist() == [counted.count(config, "decoder", 4 * b, 6 * b).cross for b in FACTORS]
    assert (CurvesView.of(config, "decoder", 4, 6).parts["cross"] > 0).all()


def test_the_cache_saves_nothing_on_the_first_token_and_more_on_every_other() -> None:
    view = GeneratedView.of(CONFIG, 9)
    ratio = view.uncached / view.cached
    assert ratio[0] == 1 and (np.diff(ratio) > 0).all()
    assert len(draw_generated(view, WORDS).drawn().data) == 2


def test_times_are_the_readings_and_their_fits() -> None:
    view = TimesView.of(readings(), CONFIG)
    assert view.lengths.tolist() == [16, 32, 64, 128, 256]
    assert view.runs == (3, 5)
    assert view.exponents["textbook"] == pytest.approx(2) and view.exponents["ffn"] == pytest.approx(1)
    assert view.crossing("textbook") == pytest.approx(200)
    assert view.crossing("fused") is None
    assert view.fastest() == "recurrent"
    np.testing.assert_allclose(view.layer["fused"], view.seconds["projections"] + view.seconds["fused"])
    assert view.formula("textbook") == r"20\,\text{ns}\,T^2"
    assert view.facts()["ffn_time"] == duration(4e-6 * 256)
    columns = view.columns(WORDS)
    assert columns["length"] == [16, 32, 64, 128, 256] and len(columns) == 1 + len(PARTS) + 2
    for figure in (draw_times(view, WORDS).drawn(), draw_recurrent(view, WORDS).drawn()):
        points = {trace.name: list(trace.y) for trace in figure.data if trace.name}
        assert all(len(values) == 5 for values in points.values())
    assert list(draw_times(view, WORDS).drawn().data[0].y) == list(view.seconds["textbook"])


def test_a_length_that_was_not_measured_to_the_end_is_left_out() -> None:
    view = TimesView.of(readings()[:-1], CONFIG)
    assert view.lengths.tolist() == [16, 32, 64, 128]


def test_a_single_length_can_be_drawn() -> None:
    view = TimesView.of(readings(1), CONFIG)
    assert view.fits["ffn"] is None and view.facts()["ffn_p"] == "–"
    for figure in (
        draw_times(view, WORDS).drawn(),
        draw_recurrent(view, WORDS).drawn(),
        draw_memory(view, WORDS, str).drawn(),
    ):
        assert figure.data


def test_memory_shows_what_was_counted_beside_what_was_computed() -> None:
    view = TimesView.of(readings(), CONFIG)
    computed, textbook, _ = draw_memory(view, WORDS, str).drawn().data
    assert list(computed.y) == [4 * 4 * CONFIG.n_heads * n * n for n in view.lengths.tolist()]
    assert list(textbook.y) == [100 * n for n in view.lengths.tolist()]


def test_every_head_is_in_one_bar() -> None:
    config = tiny_config(n_layers=3)
    summaries = heads.kinds(run_both(language_model(config)))
    names = [[HEAD.of(head).name for head in layer] for layer in summaries]
    view = KindsView.of(names, [[head.entropy for head in layer] for layer in summaries], tuple(HEAD.labels("en")))
    assert np.sum(list(view.counts.values()), axis=0).tolist() == [config.n_heads] * 3
    assert view.total().total() == 9
    figure = draw_kinds(view, {kind: kind for kind in view.counts}, WORDS).drawn()
    np.testing.assert_array_equal(np.sum([bar.x for bar in figure.data], axis=0), [config.n_heads] * 3)


def test_the_factors_by_hand_multiply_to_the_count() -> None:
    said = {name: int(value.replace("{,}", "")) for name, value in by_hand.by_hand(CONFIG, "decoder", 0, 7).items()}
    counts = counted.count(CONFIG, "decoder", 7)
    assert said["n"] * said["n"] * said["k"] * said["h"] == said["scores"] == counts.scores // CONFIG.n_layers
    assert said["pairs"] == counts.pairs // CONFIG.n_layers
    assert said["n"] * said["m"] * said["d"] * said["f"] == said["ffn"] == counts.ffn // CONFIG.n_layers
    twice = counted.count(CONFIG, "decoder", 14)
    assert said["twice"] == twice.pairs // CONFIG.n_layers and said["twice_ffn"] == twice.ffn // CONFIG.n_layers


def test_the_table_holds_whole_numbers() -> None:
    columns = by_hand.count_columns(CONFIG, "decoder", 7, 0, WORDS)
    assert columns["length"] == [7, 70, 700]
    assert columns["scores"] == [counted.count(CONFIG, "decoder", n).scores for n in (7, 70, 700)]


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999_999, "999,999"), (1_234_567, "1.23\u00a0×\u00a010⁶"), (9.999e9, "1.00\u00a0×\u00a010¹⁰")],
)
def test_large_numbers_are_written_with_their_power(number: float, said: str) -> None:
    assert big(number) == said


def test_small_numbers_and_times_can_be_read() -> None:
    assert small(1.29e-6) == "1.29\u00a0×\u00a010⁻⁶" and small(0.0) == "0" and small(2.667) == "2.67"
    assert [duration(s) for s in (2e-9, 4.2e-6, 0.99996, 45.0)] == ["2 ns", "4.2 µs", "1,000 ms", "45 s"]
