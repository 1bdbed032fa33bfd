"""What the page on Pre-LN and Post-LN draws is what the two traces hold."""

from __future__ import annotations

import dataclasses

import islands
import numpy as np
import pytest
from tiny_models import describe, language_model, mixed_norms, run_both, variants

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Items, Path, Scene, Texts, seen
from viz_model.island.look import Look
from viz_model.topics.norm_placement import (
    PAGE,
    blocks,
    depth,
    last_norm,
    predictions,
    pull,
)
from viz_model.topics.norm_placement.places import ratio, runs
from viz_model.topics.norm_placement.pull import stream_gradients
from viz_model.topics.norm_placement.readings import readings

every = pytest.mark.parametrize("config_", [*variants(), *mixed_norms()], ids=describe)
TEXT = "The cat sat on the mat"
SUBLAYERS = {"attn": "mid", "cross": "cross", "ffn": "out"}


@pytest.fixture(scope="module")
def traces() -> dict[str, vm.Trace]:
    return {side: vm.load(f"story-{side}-ln").trace(TEXT) for side in ("pre", "post")}


@pytest.fixture
def twins(traces: dict[str, vm.Trace]) -> Look:
    return dataclasses.replace(islands.look(traces["post"], PAGE, layer=1, token=3), twin=traces["pre"])


def labels(scene: Scene, id: str) -> list[str]:
    marks = [mark for panel in scene.panels for mark in panel.marks]
    return [str(label) for mark in marks if isinstance(mark, Items) and mark.id == id for label in mark.labels]


def numbers(scene: Scene, id: str) -> list[float]:
    """What is said last of each item of a mark."""
    return [float(label.split()[-1].rstrip("%").replace("−", "-")) for label in labels(scene, id)]


@every
def test_a_model_alone_is_drawn_and_said_as_itself(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_)).at(config_.sides[-1])
    look = islands.look(trace, PAGE, layer=1, token=2)
    for lang in ("en", "zh"):
        spoken = dataclasses.replace(islands.look(trace, PAGE, lang, layer=1, token=2), _read=look._read)
        said = islands.sentences(PAGE, spoken)
        assert said and not any("{{" in one for one in said)
    found, shown = readings(trace), islands.pictures(PAGE, look)
    place = config_.norm_at
    assert list(runs(look)) == [place]
    scene = shown["norm_placement.lengths"]
    np.testing.assert_allclose(numbers(scene, "points.0"), np.median(found.before, 1), atol=0.0051)
    np.testing.assert_allclose(numbers(scene, "points.1"), np.median(found.after, 1), atol=0.0051)
    for token in (0, 3):
        points = numbers(seen(depth.draw_lengths(look), {**look.place, "token": token}), "points.2")
        np.testing.assert_allclose(points, found.before[:, token], atol=0.0051)
    view = depth.view(look)
    assert view.facts(place)["last"] == f"{np.median(found.before[-1]):.1f}"
    assert {len(column) for column in view.table(2).values()} == {len(found.sites)}


def test_by_depth_both_models_and_their_untrained_ones(twins: Look) -> None:
    view = depth.view(twins)
    assert list(view.readings) == list(view.untrained) == ["pre", "post"]
    scene = seen(depth.draw_alike(twins), twins.place)
    paths = [mark for mark in scene.panels[0].marks if isinstance(mark, Path)]
    assert [path.dash is None for path in paths] == [True, True, False, False] and len(scene.keys) == 4
    np.testing.assert_allclose(numbers(scene, "points.3"), view.untrained["post"].alike, atol=6e-4)
    shares = seen(depth.draw_shares(twins), twins.place)
    drawn = [float(label.split()[-1].rstrip("%").replace("−", "-")) for label in labels(shares, "points.1")[1:]]
    np.testing.assert_allclose(drawn, 100 * np.median(view.readings["post"].share[1:], 1), atol=0.51)


def test_the_last_norm_is_drawn_for_the_token(twins: Look, traces: dict[str, vm.Trace]) -> None:
    scene = seen(last_norm.draw(twins), twins.place)
    for k, (side, one) in enumerate(last_norm.every(twins).items()):
        assert one.p is not None
        np.testing.assert_allclose(numbers(scene, f"bars.{k}"), one.p[:, 3], atol=6e-4)
        (texts,) = [mark for mark in scene.panels[0].marks if isinstance(mark, Texts) and mark.id == f"values.{k}"]
        assert str(texts.texts[-1]).startswith(traces[side].next_tokens(3, 1)[0][0].label)
    assert last_norm.every(twins)["post"].name == "blocks.3.ffn.norm"
    assert last_norm.every(twins)["pre"].name == "final.norm"


def test_gradients_are_those_of_the_sentence(twins: Look, traces: dict[str, vm.Trace]) -> None:
    scene = pull.draw(twins)
    assert scene is not None
    for side, trace in traces.items():
        one = stream_gradients(trace)
        np.testing.assert_allclose(numbers(scene, side), one.norms, atol=6e-5)
        facts = pull.facts(one)
        assert facts["change"] == f"{ratio(one.norms[0] / one.norms[-1])}" and facts["top"] == f"{one.norms[-1]:.3f}"


@every
def test_lengths_through_a_block(config_: ModelConfig) -> None:
    trace = run_both(language_model(config_))
    for side in config_.sides:
        run = trace.at(side)
        view = blocks.block_view(run, range(run.n_layers))
        for layer, token in ((0, 0), (1, 3)):
            stream = run[f"blocks.{layer}.resid.in"][token]
            assert view.entering[layer, token] == pytest.approx(stream.norm().item(), rel=1e-4)
            for branch in view.branches:
                added = run[f"blocks.{layer}.{branch.name}.out"][token]
                after = run[f"blocks.{layer}.resid.{SUBLAYERS[branch.name]}"][token]
                assert branch.added[layer, token] == pytest.approx(added.norm().item(), rel=1e-4)
                assert branch.total[layer, token] == pytest.approx((stream + added).norm().item(), rel=1e-4)
                assert branch.after[layer, token] == pytest.approx(after.norm().item(), rel=1e-4)
                stream = after
        assert [branch.name == "cross" for branch in view.branches].count(True) == ("blocks.1.cross.out" in run)


def test_predictions_are_probabilities_over_the_full_vocabulary(traces: dict[str, vm.Trace]) -> None:
    view = predictions.predictions(traces, 3)
    for side, trace in traces.items():
        expected = {token.label: p for token, p in trace.next_tokens(3, 5)}
        shown = dict(zip(view.labels, view.probs[side].tolist(), strict=True))
        assert {label: shown[label] for label in expected} == pytest.approx(expected, rel=1e-4)
        assert view.top[side] == trace.next_tokens(3, 1)[0][0].label
    p, q = (trace["probs"][3].numpy() for trace in traces.values())
    assert view.overlap == pytest.approx(1 - 0.5 * np.abs(p - q).sum(), abs=1e-4)
