"""Masks to try: which are offered, what they hide, and that a run under one is what it says."""

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import config
from viz_model.config import ModelConfig, Side
from viz_model.island.look import Look
from viz_model.measures import covering, masks
from viz_model.measures.masks import MaskChoice
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.topics.attention.heads import SIGHT
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
    for side in SIDES:
        assert built(MaskChoice("none"), side).equal(everybody) and built(MaskChoice("causal"), side).equal(past)
        for length, kept in ((1, 1), (2, 1), (6, 4)):  # padding hides the end, but never everything
            visible = built(MaskChoice("padding", n_padding=2), side, length)
            assert not visible[:, kept:].any() and masks.blind(visible) == ()
            assert visible[:, :kept].equal(masks.simple(side, length)[:, :kept])
    assert masks.simple("encoder", 6).equal(everybody) and masks.simple("decoder", 6).equal(past)


@pytest.mark.parametrize("side", SIDES)
def test_windows_with_global_tokens_and_masks_that_are_drawn(side: Side) -> None:
    local, both = built(MaskChoice("window", size=2), side), built(MaskChoice("global", size=2, chosen=(1, 40)), side)
    for q, k in np.ndindex(6, 6):
        near = abs(q - k) < 2 and (side == "encoder" or k <= q)
        assert local[q, k] == near
        assert both[q, k] == ((near or 1 in (q, k)) and (side == "encoder" or k <= q))
    drawn = built(MaskChoice("drawn", flipped=((0, 0), (4, 5), (9, 9))), side)
    assert (drawn != masks.simple(side, 6)).nonzero().tolist() == [[0, 0], [4, 5]]
    assert masks.blind(drawn) == ((0,) if side == "decoder" else ())


@pytest.mark.parametrize("config_", variants(), ids=describe)
def test_every_layer_of_a_run_has_the_mask_that_was_asked_for(config_: ModelConfig) -> None:
    lm = language_model(config_)
    own = run_both(lm)
    for side in config_.sides:
        seen = own.at(side)
        for layer in range(seen.n_layers):
            assert seen.mask(layer).equal(seen.stack.visible(layer, len(seen), len(seen)))
        for name in masks.options(config_, side, len(seen)):
            visible = masks.build(MaskChoice(name, flipped=((1, 0),)), side, len(seen))
            if visible is None:
                continue
            changed = run_both(lm, mask={side: visible}).at(side)
            for layer in range(seen.n_layers):
                assert changed.mask(layer).equal(visible)
                pattern = changed[f"blocks.{layer}.attn.pattern"].numpy()
                assert (pattern[:, ~visible.numpy()] == 0).all()
                np.testing.assert_allclose(pattern.sum(-1), 1, rtol=1e-5)
                v = changed[f"blocks.{layer}.attn.v"].repeat_interleave(config_.n_heads // config_.n_kv_heads, 0)
                z = torch.from_numpy(pattern) @ v
                torch.testing.assert_close(z, changed[f"blocks.{layer}.attn.z"], atol=1e-4, rtol=1e-4)


def sight(trace: Trace, layer: int) -> str:
    return SIGHT.of(sights(Look.at(trace, Texts("en"), "attention", layer=layer, one=True))).name


def test_what_is_said_of_a_mask_is_read_off_the_run() -> None:
    for one in variants():
        lm = language_model(one)
        for side in one.sides:
            own = run_both(lm).at(side)
            for n in range(own.n_layers):
                size = min(one.window(side, n), len(own))
                kind = "window_two_way" if side == "encoder" else "window"
                usual = "everything" if side == "encoder" else "causal"
                assert sight(own, n) == (kind if 0 < size < len(own) else usual)
            said_of: dict[masks.Mask, str] = {"none": "everything", "causal": "causal", "drawn": "plain"}
            for name, said in said_of.items():
                visible = built(MaskChoice(name, flipped=((3, 1), (3, 5))), side, len(own))
                assert sight(run_both(lm, mask={side: visible}).at(side), 0) == said


ENCODERS = [c for c in variants() if c.kind == "encoder" and c.has_logits]
MASK = 100


@pytest.mark.parametrize("config_", ENCODERS, ids=describe)
def test_covering_is_running_the_masked_text(config_: ModelConfig) -> None:
    lm = language_model(config_)
    trace = run_both(lm)
    found = covering.cover(trace, range(len(trace)), MASK)
    assert found.positions.tolist() == list(range(7)) and MASK not in trace.ids
    for n, (position, own) in enumerate(zip(found.positions, trace.ids, strict=True)):
        alone = lm.trace(ids=[*trace.ids[:position], MASK, *trace.ids[position + 1 :]])
        probs = alone["probs"][position]
        assert np.exp(-found.nats[n]) == pytest.approx(float(probs[own]), rel=1e-4)
        assert found.ranks[n] == 1 + int((probs > probs[own]).sum())
        assert found.guesses[n].tolist() == probs.topk(3).indices.tolist()
        np.testing.assert_allclose(found.guess_probs[n], probs.topk(3).values, rtol=1e-4)
        assert found.visible[n] == pytest.approx(float(trace["probs"][position, own]), rel=1e-4)


@pytest.mark.parametrize(
    "edit", [vm.edits.AblateHead(layer=0, head=1), vm.edits.NoPosition(), vm.edits.Skip(layer=1, part="ffn")]
)
def test_edits_hold_where_a_token_is_covered(edit: vm.edits.Edit) -> None:
    lm = vm.load("story-bert")
    trace = lm.trace("The cat sat on the mat.", edits=(edit,))
    ids = [lm.tokenizer.mask_id if n == 3 else id for n, id in enumerate(trace.ids)]
    expected, found = lm.trace(ids=ids, edits=(edit,)), covering.covering(trace, 3)  # type: ignore[arg-type]
    assert found.ids == expected.ids and not isinstance(found.values, Recomputed)
    for name in ("logits", "blocks.1.attn.pattern", "blocks.0.resid.out"):
        torch.testing.assert_close(found[name], expected[name], atol=1e-4, rtol=1e-4)


def test_a_mask_of_attention_holds_when_tokens_are_covered_and_a_typed_mask_is_not_asked_about() -> None:
    lm = language_model(tiny_config(kind="encoder", head=config.MaskedHead()))
    assert covering.cover(lm.trace(ids=[3, MASK, 4]), range(3), MASK).positions.tolist() == [0, 2]
    alone = torch.eye(5, dtype=torch.bool)
    found = covering.cover(lm.trace(ids=[3, 1, 4, 1, 5], mask=alone), [2], MASK)
    expected = lm.trace(ids=[3, 1, MASK, 1, 5], mask=alone)["probs"][2, 4]
    assert np.exp(-found.nats[0]) == pytest.approx(float(expected), rel=1e-4)
    assert found.nats[0] != pytest.approx(covering.cover(lm.trace(ids=[3, 1, 4, 1, 5]), [2], MASK).nats[0], rel=1e-3)


def test_the_text_itself_is_without_control_tokens_and_its_parts_hold_every_position_once() -> None:
    trace = vm.load("story-bert").trace("the cat " * 75)
    marked = [n for n, id in enumerate(trace.ids) if id in trace.tokenizer.controls]
    assert marked and [*covering.written(trace)] == [n for n in range(len(trace)) if n not in marked]
    parts = {covering.part(trace, position) for position in covering.written(trace)}
    assert sorted(n for part in parts for n in part) == list(covering.written(trace))
    assert max(map(len, parts)) == covering.MOST_COVERED
    assert 0 in covering.part(trace, 0)  # a control token can be asked about, too
