"""The pictures of the page on cost, their numbers, and its sentences."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import islands
import numpy as np
import pytest
from tiers import name
from tiny_models import language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ClassHead, Patches
from viz_model.drawing.digits import big, duration, small
from viz_model.island.page import Plot, Quiz
from viz_model.measures import heads
from viz_model.measures.heads import HEAD
from viz_model.topics.cost import PAGE, PICTURES, counted, kinds, lengths, shares, tabs
from viz_model.topics.cost.kinds import KindsView
from viz_model.topics.cost.lengths import CurvesView, GeneratedView
from viz_model.topics.cost.measured import PARTS, Reading
from viz_model.topics.cost.patches import PARTS as CUT_PARTS
from viz_model.topics.cost.patches import cuts
from viz_model.topics.cost.shares import FACTORS, SharesView
from viz_model.topics.cost.times import TimesView, draw_memory, draw_recurrent, draw_times

CONFIG = tiny_config(d_model=32, n_heads=4, d_ffn=128)
CONFIGS = variants()[::9]


def looking(config: Any, n: int = 7, lang: str = "en", **place: int) -> Any:
    return islands.look(run_both(language_model(config), n).at(config.sides[-1]), PAGE, lang, **place)


def written(n: float) -> str:
    """A count as it stands in a sentence."""
    return islands.plain(big(n))


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
    drawn = shares.draw(looking(CONFIG)).series
    np.testing.assert_allclose(np.sum([np.asarray(one.values) for one in drawn], axis=0), 1)


def test_the_lines_meet_where_the_diamond_stands() -> None:
    view = CurvesView.of(CONFIG, "decoder", 7)
    assert view.passes == 4 * CONFIG.d_model
    at = [np.exp(np.interp(np.log(view.passes), np.log(view.lengths), np.log(view.parts[p]))) for p in ("pairs", "ffn")]
    assert at[0] == pytest.approx(at[1], rel=0.02)
    drawn = lengths.curves(looking(CONFIG)).figure.data
    diamond = next(trace for trace in drawn if trace.marker.symbol == "diamond")
    assert diamond.y[0] == pytest.approx(at[1])
    visible = looking(CONFIG).words("visible")
    assert visible in [trace.name for trace in drawn] and (view.visible <= view.parts["pairs"]).all()
    drawn = lengths.curves(looking(tiny_config(kind="encoder"))).figure.data
    assert visible not in [trace.name for trace in drawn]  # it hides nothing


def test_lines_are_told_apart_without_their_colors() -> None:
    for config in CONFIGS:
        drawn = [one for one in lengths.curves(looking(config)).figure.data if one.mode == "lines"]
        assert len({(one.line.dash, one.line.width) for one in drawn}) == len(drawn)


def test_a_source_grows_with_its_target() -> None:
    config = tiny_config(kind="encoder_decoder", start_id=0)
    view = SharesView.of(config, "decoder", 4, 6)
    assert view.parts["cross"].tolist() == [counted.count(config, "decoder", 4 * b, 6 * b).cross for b in FACTORS]
    assert (CurvesView.of(config, "decoder", 4, 6).parts["cross"] > 0).all()


def test_the_cache_saves_nothing_on_the_first_token_and_more_on_every_other() -> None:
    view = GeneratedView.of(CONFIG, 9)
    ratio = view.uncached / view.cached
    assert ratio[0] == 1 and (np.diff(ratio) > 0).all()
    drawn = lengths.generated(looking(CONFIG, 9))
    assert [list(one.y) for one in drawn.figure.data] == [list(view.uncached), list(view.cached)]
    encoder = islands.made(PAGE, looking(tiny_config(kind="encoder")))
    assert not any(isinstance(one, Plot) and one.id == drawn.id for one in encoder)


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
    columns = view.columns(str)
    assert columns["length"] == [16, 32, 64, 128, 256] and len(columns) == 1 + len(PARTS) + 2
    for figure in (draw_times(view, str).figure, draw_recurrent(view, str).figure):
        points = {trace.name: list(trace.y) for trace in figure.data if trace.name}
        assert all(len(values) == 5 for values in points.values())
    assert list(draw_times(view, str).figure.data[0].y) == list(view.seconds["textbook"])


def test_a_length_that_was_not_measured_to_the_end_is_left_out() -> None:
    view = TimesView.of(readings()[:-1], CONFIG)
    assert view.lengths.tolist() == [16, 32, 64, 128]


def test_a_single_length_can_be_drawn() -> None:
    view = TimesView.of(readings(1), CONFIG)
    assert view.fits["ffn"] is None and view.facts()["ffn_p"] == "–"
    for plot in (draw_times(view, str), draw_recurrent(view, str), draw_memory(view, str)):
        assert plot.scene.series


def test_memory_shows_what_was_counted_beside_what_was_computed() -> None:
    view = TimesView.of(readings(), CONFIG)
    computed, textbook, _ = draw_memory(view, str).figure.data
    assert list(computed.y) == [4 * 4 * CONFIG.n_heads * n * n for n in view.lengths.tolist()]
    assert list(textbook.y) == [100 * n for n in view.lengths.tolist()]


def test_every_head_is_in_one_bar() -> None:
    config = tiny_config(n_layers=3)
    summaries = heads.kinds(run_both(language_model(config)))
    names = [[HEAD.of(head).name for head in layer] for layer in summaries]
    view = KindsView.of(names, [[head.entropy for head in layer] for layer in summaries], tuple(HEAD.labels("en")))
    assert np.sum(list(view.counts.values()), axis=0).tolist() == [config.n_heads] * 3
    assert view.total().total() == 9
    drawn = kinds.draw(looking(config)).figure.data
    np.testing.assert_array_equal(np.sum([bar.y for bar in drawn], axis=0), [config.n_heads] * 3)
    assert len({bar.marker.pattern.shape for bar in drawn}) == len(drawn)


def test_the_factors_by_hand_multiply_to_the_count() -> None:
    said = {name: int(value.replace("{,}", "")) for name, value in tabs.by_hand(CONFIG, "decoder", 0, 7).items()}
    counts = counted.count(CONFIG, "decoder", 7)
    assert said["n"] * said["n"] * said["k"] * said["h"] == said["scores"] == counts.scores // CONFIG.n_layers
    assert said["pairs"] == counts.pairs // CONFIG.n_layers
    assert said["n"] * said["m"] * said["d"] * said["f"] == said["ffn"] == counts.ffn // CONFIG.n_layers
    twice = counted.count(CONFIG, "decoder", 14)
    assert said["twice"] == twice.pairs // CONFIG.n_layers and said["twice_ffn"] == twice.ffn // CONFIG.n_layers


def test_the_table_holds_whole_numbers() -> None:
    look = looking(CONFIG)
    ((_, _, columns),) = tabs.counts(look)
    assert columns[look.words("length")] == [7, 70, 700]
    assert columns[look.words("scores")] == [counted.count(CONFIG, "decoder", n).scores for n in (7, 70, 700)]


@pytest.mark.parametrize(("config", "lang"), list(itertools.product(CONFIGS, ["en", "zh"])), ids=name)
def test_any_model_is_counted_in_words_and_every_picture_can_be_written(config: Any, lang: str) -> None:
    look = looking(config, lang=lang)
    side = look.trace.stack.side
    said = "\n".join(islands.sentences(PAGE, look))
    assert "{{" not in said
    found = counted.count(config, side, len(look), len(look.trace.ids) if shares.n_source(look) else 0)
    assert written(found.total) in said
    one = counted.of_block(config, side, 0, len(look))
    assert written(one.projections + one.pairs) in said
    both = counted.arrangements(config, len(look.trace.ids), 256)
    chosen = dataclasses.replace(look, options={"n_target": "256"})
    assert all(written(each.total) in "\n".join(islands.sentences(PAGE, chosen)) for each in both.values())
    plots = [one for one in islands.made(PAGE, look) if isinstance(one, Plot)]
    assert {plot.id for plot in plots} >= {"cost.curves", "cost.kinds"}
    for plot in plots:
        assert len(plot.scene.series) >= 1


def test_windows_are_told_by_layer_and_one_token_is_enough() -> None:
    look = looking(tiny_config(windows=(3, 0)))
    assert any("window (a sparse mask) of 3 tokens" in one for one in islands.sentences(PAGE, look))
    first, second = ("\n".join(islands.sentences(PAGE, look, layer=layer)) for layer in (0, 1))
    assert "This layer sees 3 tokens" in first and "This layer sees 3 tokens" not in second
    assert "One token has no other order" in "\n".join(islands.sentences(PAGE, looking(CONFIG, 1)))


def test_what_takes_long_is_shuffled_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    look = looking(CONFIG)
    monkeypatch.setattr("viz_model.topics.cost.order.MOST_WORK", 1)
    assert not any("We let the model read" in one for one in islands.sentences(PAGE, look))
    asked = dataclasses.replace(look, options={"order": "1"})
    assert any("We let the model read" in one for one in islands.sentences(PAGE, asked))


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999_999, "999,999"), (1_234_567, "1.23\u00a0×\u00a010⁶"), (9.999e9, "1.00\u00a0×\u00a010¹⁰")],
)
def test_large_numbers_are_written_with_their_power(number: float, said: str) -> None:
    assert big(number) == said


def test_small_numbers_and_times_can_be_read() -> None:
    assert small(1.29e-6) == "1.29\u00a0×\u00a010⁻⁶" and small(0.0) == "0" and small(2.667) == "2.67"
    assert [duration(s) for s in (2e-9, 4.2e-6, 0.99996, 45.0)] == ["2 ns", "4.2 µs", "1,000 ms", "45 s"]


def test_a_finer_cut_of_a_picture_has_more_pairs() -> None:
    inputs, head = Patches(height=16, width=16, patch=4), ClassHead(labels=("a", "b"))
    given: dict[str, Any] = {"kind": "encoder", "n_vocab": 0, "tie_embeddings": False, "scale_embedding": False}
    config = tiny_config(**given, inputs=inputs, head=head, n_context=17)
    look = islands.look(run_both(language_model(config)), PICTURES)
    found = cuts(config)
    assert [cut.side for cut in found] == [8, 4, 2]
    for cut in found:
        assert cut.n_positions == (16 // cut.side) ** 2 + 1
        width = config.n_heads * config.d_head
        assert cut.counted.pairs == 2 * config.n_layers * cut.n_positions**2 * width
    said = "\n".join(islands.sentences(PICTURES, look))
    assert f"{found[1].n_positions} positions make {found[1].n_positions ** 2:,} pairs" in said
    (scene,) = islands.pictures(PICTURES, look).values()
    assert [panel.id for panel in scene.panels] == ["cut.8", "cut.4", "cut.2"]
    (quiz,) = [one for one in islands.made(PICTURES, look) if isinstance(one, Quiz)]
    own = found[1].counted
    assert CUT_PARTS[quiz.right] == max(CUT_PARTS, key=lambda part: getattr(own, part))


def test_of_tokens_that_are_all_the_same_no_order_is_told() -> None:
    trace = vm.load("story-none").trace("。。。。。。")
    said = "\n".join(islands.sentences(PAGE, islands.look(trace, PAGE)))
    assert "their order changes nothing" in said and "We let the model read" not in said


def test_of_one_token_nothing_is_told_that_takes_two() -> None:
    trace = vm.load("story-pre-ln").trace("a")
    said = "\n".join(islands.sentences(PAGE, islands.look(trace, PAGE)))
    assert "With a single token the two do not differ" in said and "in one step, not through" not in said
    assert "here every token sees only itself" in said and "are of one kind" not in said
    assert "0.0%" not in said.splitlines()[1]
