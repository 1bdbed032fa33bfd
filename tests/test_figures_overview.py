"""What the overview draws is the trace, and pooling never invents a value."""

from __future__ import annotations

import numpy as np
import pytest

import viz_model as vm
from viz_model.figures import overview
from viz_model.ui import texts


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace("the cat sat on the mat")


def test_every_part_is_a_value_of_the_run(trace: vm.Trace) -> None:
    view = overview.OverviewView.of(trace, 2)
    np.testing.assert_array_equal(view.embedding, trace["embed.token"].numpy())
    np.testing.assert_array_equal(view.position, trace["embed.position"].numpy())
    for layer, block in enumerate(view.blocks):
        np.testing.assert_array_equal(block.pattern, trace[f"blocks.{layer}.attn.pattern"][block.head].numpy())
        np.testing.assert_allclose(block.norm, trace[f"blocks.{layer}.resid.out"].norm(dim=-1).numpy(), rtol=1e-6)
    assert view.next_tokens == tuple((t.label, p) for t, p in trace.next_tokens(2, overview.N_NEXT))


def test_a_long_text_is_pooled_to_values_of_the_run(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("once upon a time " * 60)
    view = overview.OverviewView.of(trace, len(trace) - 1)
    assert view.pool > 1 and len(view.embedding) <= overview.MAX_ROWS
    recorded = trace["embed.token"].numpy()
    for row in (0, len(view.embedding) - 1):
        group = recorded[row * view.pool : (row + 1) * view.pool]
        np.testing.assert_array_equal(np.abs(view.embedding[row]), np.abs(group).max(axis=0))


def test_the_scene_holds_all_numbers_in_order(trace: vm.Trace) -> None:
    view = overview.OverviewView.of(trace, 1)
    header, numbers = overview.scene(view)
    rows, width = header["rows"], header["width"]
    expected = [view.embedding.ravel(), view.position.ravel()]
    for block in view.blocks:
        expected += [block.pattern.ravel(), block.norm]
    np.testing.assert_array_equal(numbers, np.concatenate(expected).astype(np.float32))
    assert len(numbers) == 2 * rows * width + len(view.blocks) * (rows * rows + rows)


def test_the_words_of_the_picture_are_in_the_texts() -> None:
    for language in texts.LANGUAGES:
        assert {f"scene_{word}" for word in overview.WORDS} <= texts.labels(language, "overview").keys()


def test_the_path_of_a_number_adds_up_under_pre_ln(trace: vm.Trace) -> None:
    path = overview.PathView.of(trace, 3, dimension=5)
    value = dict(zip(path.sites, path.values, strict=True))
    assert value["embed.out"] == pytest.approx(value["embed.token"] + value["embed.position"], abs=1e-5)
    if trace.model.config.norm_at == "pre":
        before = value["embed.out"]
        for layer in range(trace.model.config.n_layers):
            at = f"blocks.{layer}."
            assert value[at + "resid.mid"] == pytest.approx(before + value[at + "attn.out"], abs=1e-5)
            before = value[at + "resid.out"]
            assert before == pytest.approx(value[at + "resid.mid"] + value[at + "ffn.out"], abs=1e-5)


def test_norms_are_lengths(trace: vm.Trace) -> None:
    view = overview.NormsView.of(trace)
    for name, row in zip(view.sites, view.values, strict=True):
        np.testing.assert_allclose(row, np.linalg.norm(trace[name].numpy(), axis=-1), rtol=1e-5)
