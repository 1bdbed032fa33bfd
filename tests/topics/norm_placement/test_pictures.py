"""What the page on Pre-LN and Post-LN draws is what the two traces hold."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from tiny_models import describe, language_model, mixed_norms, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.topics.norm_placement.numbers import views
from viz_model.topics.norm_placement.pull import stream_gradients
from viz_model.topics.norm_placement.last_norm import VARIANTS, last_norm
from viz_model.topics.norm_placement.readings import readings
from viz_model.topics.norm_placement.pictures import blocks, depth, gradients, look
from viz_model.topics.norm_placement.pictures import last_norm as last_norm_picture
from viz_model.topics.norm_placement.pictures.depth import DepthView

every = pytest.mark.parametrize("config_", [*variants(), *mixed_norms()], ids=describe)
TEXT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def traces() -> dict[str, vm.Trace]:
    return {side: vm.load(f"story-{side}-ln").trace(TEXT) for side in ("pre", "post")}


@every
def test_a_model_alone_is_drawn_as_itself(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    found = readings(trace)
    view = DepthView({config_.norm_at: found}, {}, 2, trace.config.d_model**0.5)
    lines = depth.draw_lengths(view, "length", {"after": "read"}, "a").drawn().data
    np.testing.assert_allclose(lines[0].y, np.median(found.before, 1))
    np.testing.assert_allclose(lines[1].y, np.median(found.after, 1))
    np.testing.assert_allclose(lines[2].y, found.before[:, 2])
    assert view.facts(config_.norm_at)["last"] == f"{np.median(found.before[-1]):.1f}"
    assert [len(column) for column in view.table().values()] == [len(found.sites)] * 6


def test_by_depth_both_models_and_their_untrained_ones(traces: dict[str, vm.Trace]) -> None:
    found = {side: readings(trace) for side, trace in traces.items()}
    fresh = {side: one._replace(alike=one.alike / 2) for side, one in found.items()}
    view = DepthView(found, fresh, 2, None)
    lines = depth.draw_similarity(view, "cosine", {"untrained": "untrained"}).drawn().data
    assert [line.line.dash for line in lines] == ["solid", "solid", "dot", "dot"] and all(line.name for line in lines)
    np.testing.assert_allclose(lines[3].y, found["post"].alike / 2)
    shares = depth.draw_shares(view, "share").drawn().data
    np.testing.assert_allclose(shares[1].y, np.median(found["post"].share, 1))
    assert view.facts("pre")["alike_fresh"] == f"{found['pre'].alike[-1] / 2:.2f}" and len(view.table()) == 14


def test_the_last_norm_is_drawn_for_the_token(traces: dict[str, vm.Trace]) -> None:
    found = {side: last_norm(trace) for side, trace in traces.items()}
    drawn = {side: views.last_norm_view(traces[side], one, 3) for side, one in found.items()}
    bars = last_norm_picture.draw_last_norm(drawn, [*VARIANTS], "p").drawn().data
    for bar, (side, one) in zip(bars, found.items(), strict=True):
        assert one.p is not None
        np.testing.assert_allclose(bar.x, one.p[:, 3])
        assert bar.text[-1].startswith(traces[side].next_tokens(3, 1)[0][0].label)
    assert found["post"].name == "blocks.3.ffn.norm" and found["pre"].name == "final.norm"


def test_gradients_are_those_of_the_sentence(traces: dict[str, vm.Trace]) -> None:
    found = {side: stream_gradients(trace) for side, trace in traces.items()}
    bars = gradients.draw_gradients(found, "gradient").drawn().data
    for bar, one in zip(bars, found.values(), strict=True):
        np.testing.assert_allclose(bar.y, one.norms)
        facts = gradients.facts(one)
        assert (
            facts["change"] == f"×{look.ratio(one.norms[0] / one.norms[-1])}" and facts["top"] == f"{one.norms[-1]:.3f}"
        )


@every
def test_lengths_through_a_block(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        seen = trace.at(side)
        view = views.block_view(seen, 1, 3)
        assert view.entering == pytest.approx(seen["blocks.1.resid.in"][3].norm().item(), rel=1e-4)
        stream = seen["blocks.1.resid.in"][3]
        for branch in view.branches:
            added = seen[f"blocks.1.{branch.name}.out"][3]
            after = seen[f"blocks.1.resid.{ {'attn': 'mid', 'cross': 'cross', 'ffn': 'out'}[branch.name] }"][3]
            assert branch.added == pytest.approx(added.norm().item(), rel=1e-4)
            assert branch.total == pytest.approx((stream + added).norm().item(), rel=1e-4)
            assert branch.after == pytest.approx(after.norm().item(), rel=1e-4)
            stream = after
        assert [branch.name == "cross" for branch in view.branches].count(True) == ("blocks.1.cross.out" in seen)


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_one_column_for_a_model_alone(kind: Literal["decoder", "encoder_decoder"]) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, start_id=0))).at("decoder")
    names = {name: name for name in ("norm", "attn", "cross", "ffn")}
    figure = blocks.draw_blocks({"pre": views.block_view(trace, 0, 1)}, names, "pre").drawn()
    said = [note.text for note in figure.layout.annotations]
    assert said.count("norm") == (3 if kind == "encoder_decoder" else 2)
    assert ("cross" in said) == (kind == "encoder_decoder") and not any("●" in text for text in said)


def test_predictions_are_probabilities_over_the_full_vocabulary(traces: dict[str, vm.Trace]) -> None:
    view = views.predictions_of_twins(traces, 3)
    for side, trace in traces.items():
        expected = {token.label: p for token, p in trace.next_tokens(3, 5)}
        shown = dict(zip(view.labels, view.probs[side].tolist(), strict=True))
        assert {label: shown[label] for label in expected} == pytest.approx(expected, rel=1e-4)
        assert view.top[side] == trace.next_tokens(3, 1)[0][0].label
    p, q = (trace["probs"][3].numpy() for trace in traces.values())
    assert view.overlap == pytest.approx(1 - 0.5 * np.abs(p - q).sum(), abs=1e-4)


@pytest.mark.parametrize("side", ["pre", "post"])
def test_the_chosen_twin_is_marked(side: str, traces: dict[str, vm.Trace]) -> None:
    lengths = {name: views.block_view(trace, 0, 0) for name, trace in traces.items()}
    figure = blocks.draw_blocks(lengths, {"norm": "norm", "attn": "a", "ffn": "f"}, side).drawn()
    marked = [note.text for note in figure.layout.annotations if "●" in note.text]
    assert marked == [f"<b>● {look.NAMES[side]}</b>"]


@pytest.mark.parametrize(
    ("factor", "said"),
    [(0.004, "0.004000"), (0.694, "0.69"), (3.0, "3.0"), (12.4, "12"), (1234.0, "1,234")],
)
def test_a_factor_is_written_without_an_exponent(factor: float, said: str) -> None:
    assert look.ratio(factor) == said
