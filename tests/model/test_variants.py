"""Every variant of the architecture: its registry, its identities, its cache, its edits."""

import dataclasses
import math

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
    other_blocks,
    random_model,
    run_both,
    traced,
    variants,
    without_a_part,
)

from viz_model.config import ModelConfig, Side
from viz_model.model import masks
from viz_model.model.transformer import Transformer
from viz_model.runs.edits import AblateHead

MIXED = [config for config in mixed() if config.scale_scores]
"""Scores that are not divided are so large that rounding alone makes a difference."""
EVERY = [*variants(), *without_a_part(), *mixed_norms(), *other_blocks()]
PIECES = [1] * 9, [9], [4, 5], [6, 1, 2]
every = pytest.mark.parametrize("config", EVERY, ids=describe)


@every
def test_recording_changes_nothing(config: ModelConfig) -> None:
    lm = language_model(config)
    trace = traced(config)
    target = None if trace.target_ids is None else torch.tensor([trace.target_ids])
    out = lm.model(torch.tensor([trace.ids]), target)[0]
    last = "logits" if config.has_logits else "final.norm.out" if config.norm_at != "post" else "blocks.1.resid.out"
    assert torch.equal(out, trace.at(config.sides[-1])[last])


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


@pytest.mark.parametrize(("config", "padded"), pairs(EVERY, [False, True], facts=tiers.chosen), ids=tiers.name)
def test_nothing_is_left_behind_on_another_device(config: ModelConfig, padded: bool) -> None:
    model = Transformer(config).eval().to("meta")
    ids = torch.zeros(2, 6, dtype=torch.long, device="meta")
    target = ids[:, :4] if config.kind == "encoder_decoder" else None
    padding = torch.zeros(2, 6, dtype=torch.bool, device="meta") if padded else None
    out = model(ids, target, padding=padding)
    assert out.device.type == "meta"
    assert out.shape[:2] == (2, 6 if target is None else 4)
