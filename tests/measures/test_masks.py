"""Masks to try: which are offered, what they hide, and that a run under one is what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import describe, language_model, run_both, variants

from viz_model.config import ModelConfig, Side
from viz_model.island.look import Look
from viz_model.measures import masks
from viz_model.measures.masks import MaskChoice
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.topics.attention.heads import SIGHT, Sight
from viz_model.topics.attention.heads import sight as sights

SIDES: tuple[Side, Side] = ("encoder", "decoder")


def built(choice: MaskChoice, side: Side = "decoder", length: int = 6) -> torch.Tensor:
    found = masks.build(choice, side, length)
    assert found is not None
    return found


@pytest.mark.parametrize("side", SIDES)
def test_masks_that_equal_the_models_own_are_not_offered(side: Side) -> None:
    plain = next(c for c in variants() if c.kind == "encoder_decoder" and not c.windows)
    windowed = next(c for c in variants() if any(c.windows) and c.sides[-1] == "decoder")
    same = {"encoder": "none", "decoder": "causal"}[side]
    assert set(masks.MASKS) - set(masks.options(plain, side, 5)) == {same}
    assert set(masks.options(windowed, "decoder", 5)) == set(masks.MASKS)
    assert masks.options(plain, side, 1) == ("own",)


def test_the_simple_masks_are_the_textbooks() -> None:
    everybody, past = torch.ones(6, 6).bool(), torch.ones(6, 6).tril().bool()
    assert masks.build(MaskChoice("own"), "decoder", 6) is None
    for side in SIDES:
        assert built(MaskChoice("none"), side).equal(everybody)
        assert built(MaskChoice("causal"), side).equal(past)
    assert masks.simple("encoder", 6).equal(everybody) and masks.simple("decoder", 6).equal(past)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_padding_hides_the_end_from_everybody_but_never_everything(side: Side, length: int) -> None:
    visible = built(MaskChoice("padding", n_padding=2), side, length)
    kept = max(1, length - 2)
    assert not visible[:, kept:].any()
    assert visible[:, :kept].equal(masks.simple(side, length)[:, :kept])
    assert masks.blind(visible) == ()


@pytest.mark.parametrize("side", SIDES)
def test_a_window_with_global_tokens(side: Side) -> None:
    local, both = built(MaskChoice("window", size=2), side), built(MaskChoice("global", size=2, chosen=(1, 40)), side)
    for q in range(6):
        for k in range(6):
            near = abs(q - k) < 2 and (side == "encoder" or k <= q)
            assert local[q, k] == near
            assert both[q, k] == ((near or 1 in (q, k)) and (side == "encoder" or k <= q))


@pytest.mark.parametrize("side", SIDES)
def test_drawing_turns_cells_over_and_names_the_rows_that_see_nothing(side: Side) -> None:
    simple = masks.simple(side, 6)
    drawn = built(MaskChoice("drawn", flipped=((0, 0), (4, 5), (9, 9))), side)
    differs = (drawn != simple).nonzero().tolist()
    assert differs == [[0, 0], [4, 5]]
    assert masks.blind(drawn) == ((0,) if side == "decoder" else ())
    assert masks.simple(side, 6).equal(simple)  # and nothing was changed in place


cells = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), unique=True)


@given(cells, cells)
def test_a_cell_turned_twice_is_as_before(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    once = masks.flip((), first)
    assert once == tuple(sorted(first))
    assert masks.flip(masks.flip(once, second), second) == once


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_every_layer_of_a_run_has_the_mask_that_was_asked_for(config_: ModelConfig) -> None:
    lm = language_model(config_)
    own = run_both(lm)
    for side in config_.sides:
        seen = own.at(side)
        for layer in range(seen.n_layers):
            assert masks.of_run(seen, layer).equal(seen.stack.visible(layer, len(seen), len(seen)))
        for name in masks.options(config_, side, len(seen)):
            visible = masks.build(MaskChoice(name, flipped=((1, 0),)), side, len(seen))
            if visible is None:
                continue
            changed = run_both(lm, mask={side: visible}).at(side)
            for layer in range(seen.n_layers):
                assert masks.of_run(changed, layer).equal(visible)
                pattern = changed[f"blocks.{layer}.attn.pattern"].numpy()
                assert (pattern[:, ~visible.numpy()] == 0).all()
                np.testing.assert_allclose(pattern.sum(-1), 1, rtol=1e-5)
                v = changed[f"blocks.{layer}.attn.v"].repeat_interleave(config_.n_heads // config_.n_kv_heads, 0)
                z = torch.from_numpy(pattern) @ v
                torch.testing.assert_close(z, changed[f"blocks.{layer}.attn.z"], atol=1e-4, rtol=1e-4)


def sight(trace: Trace, layer: int) -> Sight:
    return sights(Look.at(trace, Texts("en"), "attention", layer=layer, one=True))


def test_what_is_said_of_a_mask_is_read_off_the_run() -> None:
    for config in variants():
        lm = language_model(config)
        for side in config.sides:
            own = run_both(lm).at(side)
            for n in range(own.n_layers):
                size = min(config.window(side, n), len(own))
                kind = "window_two_way" if side == "encoder" else "window"
                usual = "everything" if side == "encoder" else "causal"
                assert SIGHT.of(sight(own, n)).name == (kind if 0 < size < len(own) else usual)
            said_of: dict[masks.Mask, str] = {"none": "everything", "causal": "causal", "drawn": "plain"}
            for name, said in said_of.items():
                visible = built(MaskChoice(name, flipped=((3, 1), (3, 5))), side, len(own))
                changed = run_both(lm, mask={side: visible}).at(side)
                assert SIGHT.of(sight(changed, 0)).name == said
