"""What the page on Pre-LN and Post-LN draws is what the two traces hold."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.analysis.gradients import stream_gradients
from viz_model.figures import twins
from viz_model.training.publish import read_log

TEXT = "The cat sat on the mat"


@pytest.fixture(scope="module")
def models() -> dict[str, vm.LanguageModel]:
    return {"pre": vm.load("story-pre-ln"), "post": vm.load("story-post-ln")}


@pytest.fixture(scope="module")
def traces(models: dict[str, vm.LanguageModel]) -> dict[str, vm.Trace]:
    return {side: lm.trace(TEXT) for side, lm in models.items()}


@pytest.mark.parametrize("side", ["pre", "post"])
def test_lengths_through_a_block(side: str, traces: dict[str, vm.Trace]) -> None:
    trace = traces[side]
    view = twins.BlockView.of(trace, 1, 3)
    at = {name: trace[f"blocks.1.{name}"][3].numpy() for name in ("resid.in", "attn.out", "resid.mid", "ffn.out")}
    assert view.attn_sum == pytest.approx(np.linalg.norm(at["resid.in"] + at["attn.out"]), rel=1e-5)
    assert view.ffn_sum == pytest.approx(np.linalg.norm(at["resid.mid"] + at["ffn.out"]), rel=1e-5)
    assert view.entering == pytest.approx(np.linalg.norm(at["resid.in"]), rel=1e-5)
    if side == "pre":
        assert view.mid == pytest.approx(view.attn_sum, rel=1e-5)
        assert view.out == pytest.approx(view.ffn_sum, rel=1e-5)


def test_depth_holds_both_streams(traces: dict[str, vm.Trace]) -> None:
    view = twins.DepthView.of(traces, 2)
    for side, trace in traces.items():
        lengths = np.stack([np.linalg.norm(trace[site].numpy(), axis=-1) for site in view.sites])
        np.testing.assert_allclose(view.mean[side], lengths.mean(1), rtol=1e-5)
        np.testing.assert_allclose(view.token[side], lengths[:, 2], rtol=1e-5)
    assert view.table().shape == (len(view.sites), 6)
    drawn = [trace.y for trace in twins.draw_norms(view, "length").data]
    for side in traces:
        assert any(len(y) == len(view.mean[side]) and np.allclose(y, view.mean[side]) for y in drawn)


@pytest.mark.parametrize(("last", "trend"), [(2.0, "grows"), (1.1, "level"), (0.5, "shrinks")])
def test_a_trend_is_named_by_how_the_stream_ends(last: float, trend: str, traces: dict[str, vm.Trace]) -> None:
    view = twins.DepthView.of(traces, 0)._replace(mean={"pre": np.array([1.0, 9.0, last]), "post": np.ones(3)})
    assert view.trend("pre") == trend


@pytest.mark.parametrize(("first", "verdict"), [(0.05, "vanishing"), (0.5, "steady"), (50.0, "exploding")])
def test_a_gradient_is_judged_by_what_reaches_the_embedding(first: float, verdict: str) -> None:
    norms = {"pre": np.array([first, 1.0]), "post": np.ones(2)}
    view = twins.GradientsView(("embed.out", "blocks.0.resid.out"), norms, {"pre": 1.0, "post": 1.0})
    assert view.verdict("pre") == verdict


def test_gradients_are_those_of_the_sentence(traces: dict[str, vm.Trace]) -> None:
    found = {side: stream_gradients(trace) for side, trace in traces.items()}
    view = twins.GradientsView.of(found)
    for side, gradient in found.items():
        np.testing.assert_allclose(view.norms[side], gradient.norms)
    heights = np.concatenate([np.asarray(bar.y) for bar in twins.draw_gradients(view, "gradient").data])
    np.testing.assert_allclose(np.sort(heights), np.sort(np.concatenate(list(view.norms.values()))))


def test_predictions_are_probabilities_over_the_full_vocabulary(traces: dict[str, vm.Trace]) -> None:
    view = twins.PredictionsView.twins(traces, 3)
    for side, trace in traces.items():
        expected = {token.label: p for token, p in trace.next_tokens(3, 5)}
        shown = dict(zip(view.labels, view.probs[side].tolist(), strict=True))
        assert {label: shown[label] for label in expected} == pytest.approx(expected, rel=1e-4)
        assert view.top[side] == trace.next_tokens(3, 1)[0][0].label
    p, q = (trace["probs"][3].numpy() for trace in traces.values())
    assert view.overlap == pytest.approx(1 - 0.5 * np.abs(p - q).sum(), abs=1e-4)


def test_without_the_final_norm(traces: dict[str, vm.Trace]) -> None:
    view = twins.PredictionsView.final_norm(traces["pre"], 3)
    assert view.top["with"] == traces["pre"].next_tokens(3, 1)[0][0].label
    assert view.probs["with"].tolist() != view.probs["without"].tolist()
    # Post-LN has no final norm, so there is nothing to leave out.
    assert twins.bare_top_changes(traces["post"]) == 0


def test_curves_are_the_logs_of_the_training(models: dict[str, vm.LanguageModel]) -> None:
    logs = {side: read_log(lm.folder / "log.jsonl") for side, lm in models.items()}
    view = twins.CurvesView.of(logs)
    assert set(view.languages) == {"en", "zh"}
    for side, log in logs.items():
        curve = view.curves[side]
        losses = [report["loss"] for report in log]
        assert curve.mean[0] == pytest.approx(np.mean(losses[: view.window]))
        assert curve.mean[-1] < curve.mean[0]
        _, bits = curve.held_out["en"]
        assert bits[-1] == log[-1]["bits_per_byte"]["en"]


@pytest.mark.parametrize("side", ["pre", "post"])
def test_the_chosen_twin_is_marked(side: str, traces: dict[str, vm.Trace]) -> None:
    blocks = {name: twins.BlockView.of(trace, 0, 0) for name, trace in traces.items()}
    figure = twins.draw_blocks(blocks, {"norm": "norm", "attention": "a", "ffn": "f"}, side)
    marked = [note.text for note in figure.layout.annotations if "●" in note.text]
    assert marked == [f"<b>● {twins.NAMES[side]}</b>"]


@pytest.mark.parametrize(
    ("factor", "said"),
    [(0.004, "0.004000"), (0.694, "0.69"), (3.0, "3.0"), (12.4, "12"), (1234.0, "1,234")],
)
def test_a_factor_is_written_without_an_exponent(factor: float, said: str) -> None:
    assert twins.ratio(factor) == said


def test_by_hand_comes_out_at_what_was_recorded(traces: dict[str, vm.Trace]) -> None:
    said = twins.by_hand(traces, 1, 2)
    numbers = {name: -float(text[2:-1]) if text.startswith("(-") else float(text) for name, text in said.items()}
    for side, result in (("pre", "sum"), ("post", "normed")):
        assert numbers[f"{side}_{result}"] == pytest.approx(numbers[f"{side}_recorded"], abs=2e-4)
        recorded = traces[side]["blocks.1.resid.mid"][2, 0].item()
        assert numbers[f"{side}_recorded"] == pytest.approx(recorded, abs=1e-4)
    assert numbers["pre_normed"] == pytest.approx(numbers["pre_recorded_normed"], abs=2e-4)
