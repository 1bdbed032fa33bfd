"""Every variant of the architecture: its registry, its identities, its cache, its edits."""

from __future__ import annotations

import dataclasses
import itertools
import math
import typing

import fresh_variants
import pytest
import tiers
import torch
from identities import check_cells, views
from pairs import pairs
from tiny_models import (
    close,
    describe,
    language_model,
    mixed,
    mixed_norms,
    of_pictures,
    other_blocks,
    random_model,
    run_both,
    traced,
    variants,
    without_a_part,
)

import viz_model as vm
from viz_model.config import ModelConfig, NormAt, Side
from viz_model.config import variants as members
from viz_model.model import masks, sites
from viz_model.model.transformer import Transformer
from viz_model.runs.edits import AblateHead
from viz_model.topics.norm_placement.pull import stream_gradients

MIXED = [config for config in mixed() if config.scale_scores]
"""Scores that are not divided are so large that rounding alone makes a difference."""
EVERY = [*variants(), *without_a_part(), *mixed_norms(), *other_blocks()]
PIECES = [1] * 9, [9], [4, 5], [6, 1, 2]
every = pytest.mark.parametrize("config", EVERY, ids=describe)


def test_all_members_of_every_choice_are_tried() -> None:
    for field in ("norm", "position", "ffn", "head"):
        assert {type(getattr(config, field)) for config in (*EVERY, *of_pictures())} == set(members(field))
    places = itertools.product(typing.get_args(NormAt), (True, False))
    assert {(config.norm_at, config.residual) for config in EVERY} == set(places)


@every
def test_recording_changes_nothing(config: ModelConfig) -> None:
    lm = language_model(config)
    trace = traced(config)
    target = None if trace.target_ids is None else torch.tensor([trace.target_ids])
    out = lm.model(torch.tensor([trace.ids]), target)[0]
    last = "logits" if config.has_logits else "final.norm.out" if config.norm_at != "post" else "blocks.1.resid.out"
    assert torch.equal(out, trace.at(config.sides[-1])[last])


@every
def test_a_trace_cannot_reach_the_weights(config: ModelConfig) -> None:
    trace = traced(config)
    kept = [*trace.model.state_dict().values(), *trace.model.buffers()]
    weights = {tensor.untyped_storage().data_ptr() for tensor in kept}
    for name in trace.sites:
        assert not trace[name].requires_grad, name
        assert trace[name].untyped_storage().data_ptr() not in weights, name


@every
def test_a_head_is_a_slice_of_the_whole(config: ModelConfig) -> None:
    trace = traced(config)
    for name, site in sites.in_order(config):
        for head in range(config.n_heads if site.axes[0] in ("H", "G") else 0):
            whole = trace[name][head if site.axes[0] == "H" else head * config.n_kv_heads // config.n_heads]
            close(trace.head(name, head), whole)


@every
def test_identities_hold_with_a_head_switched_off(config: ModelConfig) -> None:
    side = config.sides[-1]
    kinds = ("attn", "cross") if config.kind == "encoder_decoder" else ("attn",)
    for kind in kinds:
        edit = AblateHead(layer=1, head=2, attention=kind)  # type: ignore[arg-type]
        trace = run_both(language_model(config), edits=[edit])
        view = trace.at(side)
        assert not trace[edit.site(config)][2].any() and trace[edit.site(config)][1].any()
        assert not view[f"blocks.1.{kind}.head_out"][2].any()
        check_cells(trace)


@every
def test_a_head_switched_off_is_a_model_without_its_columns(config: ModelConfig) -> None:
    layers = range(config.depth(config.sides[-1]) if config.shared_blocks else 1)  # with the weights of the first
    edited = run_both(language_model(config), edits=[AblateHead(layer=layer, head=1) for layer in layers])
    lm = dataclasses.replace(language_model(config), model=random_model(config))
    with torch.no_grad():
        weight = lm.model.stack(config.sides[-1]).block(0).attn.o.weight
        weight.view(config.d_model, config.n_heads, -1)[:, 1] = 0
    without = run_both(lm)
    for name in without.sites:
        ends = tuple(f"blocks.{layer}.attn.{value}" for layer in layers for value in ("z", "head_out"))
        if not name.endswith(("mask", "masked", *ends)):
            close(edited[name], without[name])


@every
def test_any_mask_may_stand_in(config: ModelConfig) -> None:
    lm, plain = language_model(config), traced(config)
    chosen: dict[Side, torch.Tensor] = {
        side: masks.local_and_global(n, n, 2, [0]) for side in config.sides for n in [len(plain.at(side))]
    }
    trace = run_both(lm, mask=chosen)
    check_cells(trace)
    for view in views(trace):
        assert view.side is not None
        for i in range(view.n_layers):
            assert torch.equal(view[f"blocks.{i}.attn.mask"][0] == 0, chosen[view.side])
    own = {side: plain.at(side).stack.visible(0, len(plain.at(side)), len(plain.at(side))) for side in config.sides}
    if not any(config.windows):
        again = run_both(lm, mask=own)
        for name in plain.sites:
            close(again[name], plain[name])


@every
def test_the_future_is_hidden_where_it_should_be(config: ModelConfig) -> None:
    for view in views(traced(config)):
        future = torch.ones(len(view), len(view)).triu(1).bool()
        for i in range(view.n_layers):
            pattern = view[f"blocks.{i}.attn.pattern"]
            assert (pattern[:, future] == 0).all() == (view.side == "decoder")


@pytest.mark.parametrize(
    ("config", "pieces"),
    pairs([config for config in (*EVERY, *MIXED) if config.kind != "encoder"], PIECES, facts=tiers.chosen),
    ids=tiers.name,
)
def test_the_cache_changes_nothing(config: ModelConfig, pieces: list[int]) -> None:
    model = language_model(config).model
    ids = torch.randint(101, (1, 9), generator=torch.Generator().manual_seed(0))
    cache = model.new_cache()
    if config.kind == "decoder":
        read = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(ids))
    else:
        source = model.encode(torch.tensor([[5, 6, 7, 8]]))
        read = [model.decode(piece, source, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(torch.tensor([[5, 6, 7, 8]]), ids))
        assert all(len(layer.cross) == 4 for layer in cache)
    if config.attends:  # in every layer
        assert [len(layer.attn) for layer in cache] == [9] * config.n_layers


@pytest.mark.parametrize("config", [*EVERY, *MIXED], ids=describe)
def test_padding_is_not_seen(config: ModelConfig) -> None:
    model = language_model(config).model
    short, long = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 8, 1, 1, 1]])
    target = torch.tensor([[0, 3, 4]]) if config.kind == "encoder_decoder" else None
    padding = torch.tensor([[False] * 4 + [True] * 3])
    rows = slice(None) if target is not None else slice(4)
    close(model(long, target, padding=padding)[:, rows], model(short, target))


def test_edits_name_what_does_not_exist() -> None:
    decoder = language_model(variants()[0])
    for edit, message in (
        (AblateHead(layer=2, head=0), "layer: expected 0 to 1, got 2"),
        (AblateHead(layer=0, head=-1), "head: expected 0 to 2, got -1"),
        (AblateHead(layer=0, head=0, side="encoder"), "side: "),
        (AblateHead(layer=0, head=0, attention="cross"), "attention: "),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            decoder.trace(ids=[1, 2], edits=[edit])


def test_a_mask_that_does_not_fit_is_refused() -> None:
    lm = language_model(variants()[0])
    with pytest.raises(ValueError, match="mask: expected 3 × 3"):
        lm.trace(ids=[1, 2, 3], mask=masks.causal(2, 2))
    with pytest.raises(ValueError, match="mask: row 1 sees no token"):
        lm.trace(ids=[1, 2, 3], mask=torch.tensor([[1, 0, 0], [0, 0, 0], [1, 1, 1]]).bool())
    added = torch.zeros(3, 3).masked_fill(~masks.causal(3, 3), -math.inf)
    for wrong in (added, [[1, 0, 0]] * 3, "causal"):
        with pytest.raises(TypeError, match="mask: expected booleans"):
            lm.trace(ids=[1, 2, 3], mask=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mask: this model has decoder, not encoder"):
        lm.trace(ids=[1, 2, 3], mask={"encoder": masks.causal(3, 3)})


def test_what_only_an_encoder_decoder_has() -> None:
    lm: vm.LanguageModel = language_model(variants()[0])
    with pytest.raises(ValueError, match="target: only an encoder–decoder"):
        lm.trace(ids=[1], target_ids=[2])
    with pytest.raises(ValueError, match="segments: this model has none"):
        lm.trace(ids=[1], segments=[0])


def test_kinds_of_tokens() -> None:
    config = next(c for c in variants() if c.n_segments and c.has_logits)
    lm = language_model(config)
    one, two = lm.trace(ids=[1, 2, 3]), lm.trace(ids=[1, 2, 3], segments=[0, 0, 1])
    assert torch.equal(one["embed.segment"][:2], two["embed.segment"][:2])
    assert not torch.equal(one["embed.segment"][2], two["embed.segment"][2])
    assert (one.segments, two.segments) == (None, (0, 0, 1))
    again = stream_gradients(two)
    assert again.loss != stream_gradients(one).loss
    for segments, message in (([0, 2, 0], "this model has 2, got 2"), ([0], "one for each of 3 tokens, got 1")):
        with pytest.raises(ValueError, match=f"segments: .*{message}"):
            lm.trace(ids=[1, 2, 3], segments=segments)


@pytest.mark.parametrize(("config", "padded"), pairs(EVERY, [False, True], facts=tiers.chosen), ids=tiers.name)
def test_nothing_is_left_behind_on_another_device(config: ModelConfig, padded: bool) -> None:
    """``meta`` computes no numbers, and refuses to mix with the CPU as any other device would.

    Not as in training, where which rows an expert reads depends on numbers.
    """
    _check_on_meta(config, padded)


def test_nor_by_what_contributing_shows() -> None:
    with fresh_variants.installed():
        for config in (*fresh_variants.fresh_configs(), *fresh_variants.looking_configs()):
            _check_on_meta(config, padded=False)


def _check_on_meta(config: ModelConfig, padded: bool) -> None:
    model = Transformer(config).eval().to("meta")
    ids = torch.zeros(2, 6, dtype=torch.long, device="meta")
    target = ids[:, :4] if config.kind == "encoder_decoder" else None
    padding = torch.zeros(2, 6, dtype=torch.bool, device="meta") if padded else None
    out = model(ids, target, padding=padding)
    assert out.device.type == "meta"
    assert out.shape[:2] == (2, 6 if target is None else 4)
