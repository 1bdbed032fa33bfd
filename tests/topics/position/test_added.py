"""Positions that are added: equal to the trace, and waves equal to the formula of the paper."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from islands import look, one, pictures
from tiny_models import describe, language_model, run_both, variants

from viz_model import config as choices
from viz_model.config import ModelConfig
from viz_model.drawing.scene import Cells
from viz_model.drawing.tables import pick
from viz_model.island.look import Look
from viz_model.model.transformer import Transformer
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics import position as topic
from viz_model.topics.position import added, learned, waves

ADDED = [c for c in variants() if isinstance(c.position, choices.Sinusoidal | choices.Learned)]
WAVES = [c for c in ADDED if isinstance(c.position, choices.Sinusoidal)]


@pytest.fixture
def trace(model: Transformer) -> Trace:
    return record(model, story_tokenizer(), [5, 9, 3, 7, 11, 2])


def at(trace: Trace, options: dict[str, str] | None = None, **place: Any) -> Look:
    here = look(trace, topic.PAGE, **place)
    here.options.update(options or {})  # type: ignore[attr-defined]
    return here


def test_waves_are_those_of_the_paper(config: ModelConfig) -> None:
    angle = 7.5 / 10_000 ** (2 * 3 / config.d_model)
    row = added.waves(np.array([7.5]), config.d_model, 10_000.0)[0]
    assert row[6:8] == pytest.approx([math.sin(angle), math.cos(angle)], abs=1e-6)
    length = waves.wavelength(config, 3)
    once, again = added.waves(np.array([1.0, 1.0 + length]), config.d_model, 10_000.0)
    assert once[6:8] == pytest.approx(again[6:8], abs=1e-6)


@pytest.mark.parametrize("variant", WAVES, ids=describe)
def test_curves_of_either_layout_pass_through_the_recorded_values(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        for pair in (0, 4, 11):
            here = at(trace, {"pair": str(pair)})
            found = waves.curves(here)
            for column, curve in zip(waves.columns(here), (found.sine, found.cosine), strict=True):
                recorded = trace["embed.position"][:, column].numpy()
                np.testing.assert_allclose(np.interp(np.arange(len(trace)), found.at, curve), recorded, atol=0.01)
            facts, angle = waves.facts(here), 3 / 10_000 ** (2 * pair / variant.d_model)
            sine, cosine = (pick(facts[f"recorded_{name}"], {"token": 3}) for name in ("sine", "cosine"))
            assert float(sine.replace("−", "-")) == pytest.approx(math.sin(angle), abs=1e-4)
            assert float(cosine.replace("−", "-")) == pytest.approx(math.cos(angle), abs=1e-4)


@pytest.mark.parametrize("variant", ADDED, ids=describe)
def test_strips_add_up_to_what_the_first_block_or_its_norm_reads(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        here = at(trace)
        strips, normed = here.once(added.terms)
        np.testing.assert_allclose(sum(strips[:-1]), strips[-1], atol=1e-5)
        assert ("embed.segment" in added.parts(here)) == bool(variant.n_segments)
        assert np.array_equal(strips[-1] if normed is None else normed, trace["embed.out"].numpy())
        assert (normed is not None) == variant.embedding_norm
        drawn = pictures(topic.PAGE, here, token=2)
        cells = [mark for mark in drawn["position.sum"].panels[0].marks if mark.id.startswith("cells")]
        for mark, values in zip(cells, strips, strict=True):
            np.testing.assert_array_equal(mark.values, values[2])  # type: ignore[union-attr]
        assert ("position.normed" in drawn) == variant.embedding_norm
        matrices = pictures(topic.PAGE, at(trace, {"whole": "1"}))["position.sum"].panels[0].marks
        shown = [mark.values for mark in matrices if isinstance(mark, Cells)]
        assert all(np.array_equal(*both) for both in zip(shown, strips, strict=True))


@pytest.mark.parametrize("variant", [c for c in ADDED if isinstance(c.position, choices.Learned)], ids=describe)
def test_learned_rows_are_the_table_and_the_waves_are_not(variant: ModelConfig) -> None:
    whole = run_both(language_model(variant))
    for side in variant.sides:
        trace = whole.at(side)
        table = trace.stack.position.get_parameter("table.weight").numpy()
        drawn = pictures(topic.PAGE, at(trace), token=3)
        assert np.array_equal(drawn["position.matrix"].data.values, table[: len(trace)])
        length = math.sqrt(variant.d_model // 2)
        np.testing.assert_allclose(np.linalg.norm(drawn["position.paper"].data.values, axis=-1), length, rtol=1e-5)
        (said,) = one(learned.tell(at(trace)), {"token": 3})
        column = np.abs(table[3]).argmax()
        assert f"{table[3, column]:.4f}".replace("-", "−") in said and f"{np.linalg.norm(table[3]):.3f}" in said


def test_similarity_depends_on_the_distance_alone(trace: Trace) -> None:
    view = at(trace).once(added.alike)
    assert view.cosine.shape == (6, 6) and len(view.distance.mean) == trace.model.config.n_context
    assert np.allclose(np.diagonal(view.cosine), 1, atol=1e-6)
    assert np.allclose(view.cosine[0], view.distance.mean[:6], atol=1e-5)
    assert view.spread < 1e-5
    assert view.at(1) == pytest.approx(view.cosine[3, 4], abs=1e-5)


def test_the_textbook_case_is_right_where_a_tutorial_slips(trace: Trace) -> None:
    said, *_ = waves.APART.hand(at(trace))
    assert said is not None
    for number in ("0.0099998", "0.8415", "0.5403", "0.99995"):
        assert number in said.words
