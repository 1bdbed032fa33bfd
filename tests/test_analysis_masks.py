"""The masks: the model's own is the trace's, the others are what a textbook says of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.analysis import masks
from viz_model.figures import attention

AT = "blocks.1.attn."


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace(ids=[3, 1, 4, 1, 5, 9])


def test_the_causal_mask_gives_the_run_itself(trace: vm.Trace) -> None:
    for name, values in masks.matrices(trace, 1, 2, "causal").items():
        np.testing.assert_array_equal(values, trace.head(AT + name, 2).numpy())


@pytest.mark.parametrize(("mask", "hidden"), [("none", 0), ("padding", masks.N_PADDING)])
def test_other_masks_hide_keys_from_every_query(mask: masks.Mask, hidden: int, trace: vm.Trace) -> None:
    found = masks.matrices(trace, 1, 2, mask)
    np.testing.assert_array_equal(found["scores"], trace.head(AT + "scores", 2).numpy())
    kept = len(trace) - hidden
    assert (found["mask"][:, :kept] == 0).all() and np.isneginf(found["mask"][:, kept:]).all()
    np.testing.assert_allclose(found["pattern"].sum(-1), 1, rtol=1e-6)
    assert (found["pattern"][:, kept:] == 0).all()
    # The same as attention over the kept keys alone.
    expected = torch.from_numpy(found["scores"][:, :kept].copy()).softmax(-1).numpy()
    np.testing.assert_allclose(found["pattern"][:, :kept], expected, rtol=1e-6)


def test_padding_never_hides_everything(lm: vm.LanguageModel) -> None:
    for length in (1, 2):
        found = masks.matrices(lm.trace(ids=[3] * length), 0, 0, "padding")
        assert np.isfinite(found["pattern"]).all() and found["pattern"].sum() == pytest.approx(length)


def test_a_head_under_another_mask_is_not_labelled_as_the_run(trace: vm.Trace) -> None:
    axes = ("from", "to")
    own = attention.head_view(trace, 1, 2, 0, axes, "pattern", "causal")
    other = attention.head_view(trace, 1, 2, 0, axes, "pattern", "none")
    assert own.site == f"{AT}pattern[2]" and other.site == f"{AT}scores[2] → none"
    assert np.isfinite(other.values).all() and np.isnan(own.values).any()
