"""A layer without some heads writes what the whole layer writes with these heads switched off."""

from __future__ import annotations

import pytest
import tiers
from pairs import pairs
from tiny_models import language_model, run_both, variants

from viz_model.config import ModelConfig
from viz_model.runs.edits import AblateHead
from viz_model.topics.attention.pruning import PRUNED, can_be_compared, pruned

LAYER = 1


@pytest.mark.parametrize(("config", "off"), pairs(variants(), [[0], [1, 2], "all"], facts=tiers.chosen), ids=tiers.name)
def test_pruning_is_the_head_mask(config: ModelConfig, off: list[int] | str) -> None:
    heads = tuple(range(config.n_heads)) if off == "all" else tuple(map(int, off))
    for side in config.sides:
        edits = [AblateHead(layer=LAYER, head=head, side=side) for head in heads]
        run = run_both(language_model(config), edits=edits).at(side)
        small = pruned(run, LAYER, heads)
        assert can_be_compared(run, LAYER) and PRUNED.of(small).name == "equal"
        recorded = run[f"blocks.{LAYER}.attn.out"]
        assert small.difference == (small.out - recorded).abs().max().item() <= 1e-4
        kept = config.n_heads - len(heads)
        assert small.shapes["q"][1][0] == small.shapes["o"][1][1] == kept * config.d_head
        groups = {config.kv_head(head) for head in range(config.n_heads) if head not in heads}
        assert small.shapes["k"][1][0] == small.shapes["v"][1][0] == len(groups) * config.d_head
        attention = run.stack.block(LAYER).attn
        assert (
            small.n_before
            == sum(
                p.numel() for part in (attention.q, attention.k, attention.v, attention.o) for p in part.parameters()
            )
            > small.n_after
        )


def test_pruning_other_heads_than_those_that_are_off_is_not_the_same() -> None:
    config = variants()[0]
    run = run_both(language_model(config), edits=[AblateHead(layer=LAYER, head=0)])
    assert PRUNED.of(pruned(run, LAYER, (1,))).name == "plain"
    whole = run_both(language_model(config))
    assert PRUNED.of(pruned(whole, LAYER, (0,))).name == "plain"
