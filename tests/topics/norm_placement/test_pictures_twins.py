"""What the page on Pre-LN and Post-LN draws is what the two traces hold."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.topics.norm_placement.numbers import twins as analysis
from viz_model.topics.norm_placement.numbers import views
from viz_model.topics.norm_placement.numbers.gradients import stream_gradients
from viz_model.topics.norm_placement.pictures import blocks, look
from viz_model.topics.norm_placement.pictures import depth as depth_pictures
from viz_model.topics.norm_placement.pictures import gradients as gradients_picture

every = pytest.mark.parametrize("config_", variants(), ids=describe)
TEXT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def models() -> dict[str, vm.LanguageModel]:
    return {"pre": vm.load("story-pre-ln"), "post": vm.load("story-post-ln")}


@pytest.fixture(scope="module")
def traces(models: dict[str, vm.LanguageModel]) -> dict[str, vm.Trace]:
    return {side: lm.trace(TEXT) for side, lm in models.items()}


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


@every
def test_a_model_alone_is_drawn_as_itself(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    alone: dict[str, vm.Trace] = {config_.norm_at: trace}
    view = views.depth_view(alone, 2)
    assert list(view.middle) == [config_.norm_at] and view.table().shape == (len(view.sites), 3)
    expected = np.median(np.stack([trace[site].norm(dim=-1).numpy() for site in view.sites]), axis=1)
    np.testing.assert_allclose(view.middle[config_.norm_at], expected, rtol=1e-5)
    facts = view.facts()
    assert facts[f"{config_.norm_at}_last"] == f"{expected[-1]:.1f}" and "more" not in facts
    final = views.final_view(trace, 2)
    assert (final.facts()["before_high"] == final.facts()["after_high"]) or config_.norm_at == "pre"
    said = views.by_hand(alone, 1, 2)[config_.norm_at]
    assert (r" - " in said["norm"].split("}{")[0]) == (said["name"] == "LayerNorm")
    recorded = trace["blocks.1.attn.norm.out"][2, 0].item()
    assert float(said["norm"].rpartition("= ")[2]) == pytest.approx(recorded, abs=2e-4)
    assert float(said["recorded"]) == pytest.approx(trace["blocks.1.resid.mid"][2, 0].item(), abs=1e-4)


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_one_column_for_a_model_alone(kind: Literal["decoder", "encoder_decoder"]) -> None:
    trace = run_both(language_model(tiny_config(kind=kind, start_id=0))).at("decoder")
    names = {name: name for name in ("norm", "attn", "cross", "ffn")}
    figure = blocks.draw_blocks({"pre": views.block_view(trace, 0, 1)}, names, "pre")
    said = [note.text for note in figure.layout.annotations]
    assert said.count("norm") == (3 if kind == "encoder_decoder" else 2)
    assert ("cross" in said) == (kind == "encoder_decoder") and not any("●" in text for text in said)


def test_depth_holds_both_streams(traces: dict[str, vm.Trace]) -> None:
    view = views.depth_view(traces, 2)
    for side, trace in traces.items():
        lengths = np.stack([np.linalg.norm(trace[site].numpy(), axis=-1) for site in view.sites])
        np.testing.assert_allclose(view.middle[side], np.median(lengths, axis=1), rtol=1e-5)
        np.testing.assert_allclose(view.token[side], lengths[:, 2], rtol=1e-5)
    assert view.table().shape == (len(view.sites), 6)
    fresh = {side: np.linspace(0.1, 0.6, len(view.sites)) for side in traces}
    compared = views.depth_view(traces, 2, fresh)
    assert compared.table().shape == (len(view.sites), 8) and compared.facts()["post_fresh"] == "0.60"
    lines = depth_pictures.draw_similarity(compared, "cosine", "untrained").data
    assert [line.line.dash for line in lines] == ["solid", "solid", "dot", "dot"]
    assert all(line.name for line in lines) and np.allclose(lines[3].y, fresh["post"])
    drawn = [trace.y for trace in depth_pictures.draw_norms(view, "length").data]
    for side in traces:
        assert any(len(y) == len(view.middle[side]) and np.allclose(y, view.middle[side]) for y in drawn)


@pytest.mark.parametrize(("last", "trend"), [(2.0, "grows"), (1.1, "level"), (0.5, "shrinks")])
def test_a_trend_is_named_by_how_the_stream_ends(last: float, trend: str, traces: dict[str, vm.Trace]) -> None:
    view = views.depth_view(traces, 0)._replace(middle={"pre": np.array([1.0, 9.0, last]), "post": np.ones(3)})
    assert view.trend("pre") == trend


@pytest.mark.parametrize(("first", "verdict"), [(0.05, "vanishing"), (0.5, "steady"), (50.0, "exploding")])
def test_a_gradient_is_judged_by_what_reaches_the_embedding(first: float, verdict: str) -> None:
    norms = {"pre": np.array([first, 1.0]), "post": np.ones(2)}
    view = gradients_picture.GradientsView(("embed.out", "blocks.0.resid.out"), norms, {"pre": 1.0, "post": 1.0})
    assert view.verdict("pre") == verdict


def test_gradients_are_those_of_the_sentence(traces: dict[str, vm.Trace]) -> None:
    found = {side: stream_gradients(trace) for side, trace in traces.items()}
    view = gradients_picture.GradientsView.of(found)
    for side, gradient in found.items():
        np.testing.assert_allclose(view.norms[side], gradient.norms)
    heights = np.concatenate([np.asarray(bar.y) for bar in gradients_picture.draw_gradients(view, "gradient").data])
    np.testing.assert_allclose(np.sort(heights), np.sort(np.concatenate(list(view.norms.values()))))


def test_predictions_are_probabilities_over_the_full_vocabulary(traces: dict[str, vm.Trace]) -> None:
    view = views.predictions_of_twins(traces, 3)
    for side, trace in traces.items():
        expected = {token.label: p for token, p in trace.next_tokens(3, 5)}
        shown = dict(zip(view.labels, view.probs[side].tolist(), strict=True))
        assert {label: shown[label] for label in expected} == pytest.approx(expected, rel=1e-4)
        assert view.top[side] == trace.next_tokens(3, 1)[0][0].label
    p, q = (trace["probs"][3].numpy() for trace in traces.values())
    assert view.overlap == pytest.approx(1 - 0.5 * np.abs(p - q).sum(), abs=1e-4)


def test_without_the_final_norm(traces: dict[str, vm.Trace]) -> None:
    view = views.predictions_without_final_norm(traces["pre"], 3)
    assert view.top["with"] == traces["pre"].next_tokens(3, 1)[0][0].label
    assert view.probs["with"].tolist() != view.probs["without"].tolist()
    ranges = views.logit_ranges(traces["pre"], 3)
    assert ranges["with_largest"] == f"{traces['pre']['logits'][3].max().item():.1f}"
    bare = traces["pre"]["blocks.3.resid.out"][3] @ traces["pre"].model.unembedding.weight.T
    assert ranges["without_least"] == f"{bare.min().item():.1f}"
    # Post-LN has no final norm, so there is nothing to leave out.
    assert analysis.bare_top_changes(traces["post"]) == 0


@pytest.mark.parametrize("side", ["pre", "post"])
def test_the_chosen_twin_is_marked(side: str, traces: dict[str, vm.Trace]) -> None:
    lengths = {name: views.block_view(trace, 0, 0) for name, trace in traces.items()}
    figure = blocks.draw_blocks(lengths, {"norm": "norm", "attn": "a", "ffn": "f"}, side)
    marked = [note.text for note in figure.layout.annotations if "●" in note.text]
    assert marked == [f"<b>● {look.NAMES[side]}</b>"]


@pytest.mark.parametrize(
    ("factor", "said"),
    [(0.004, "0.004000"), (0.694, "0.69"), (3.0, "3.0"), (12.4, "12"), (1234.0, "1,234")],
)
def test_a_factor_is_written_without_an_exponent(factor: float, said: str) -> None:
    assert look.ratio(factor) == said


def test_by_hand_comes_out_at_what_was_recorded(traces: dict[str, vm.Trace]) -> None:
    for side, said in views.by_hand(traces, 1, 2).items():
        end = said["sum" if side == "pre" else "norm"].rpartition("= ")[2]
        assert float(end) == pytest.approx(float(said["recorded"]), abs=2e-4)
        recorded = traces[side]["blocks.1.resid.mid"][2, 0].item()
        assert float(said["recorded"]) == pytest.approx(recorded, abs=1e-4)
