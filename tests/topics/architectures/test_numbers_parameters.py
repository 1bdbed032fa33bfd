"""Parameters, counted three ways, and the bytes of a KV cache."""

from __future__ import annotations

import islands
import pytest
import torch
from tiny_models import describe, mixed_norms, random_model, tiny_config, variants

import viz_model as vm
from viz_model.config import Dense, Gated, ModelConfig
from viz_model.measures import kv_cache
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import PAGE, parameters, scale, where
from viz_model.topics.architectures.parts import described
from viz_model.topics.architectures.references import REFERENCES

CONFIGS = variants()
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)


@every
def test_formula_declarations_and_the_built_model_agree(config: ModelConfig) -> None:
    counted = parameters.count(Transformer(config))
    assert counted == parameters.of_config(config)
    rows = parameters.formulas(config)
    for part in parameters.PARTS:
        by_formula = sum(row.copies * row.value for row in rows if row.part == part)
        assert by_formula == counted[part], part


def test_layers_that_differ_have_formulas_of_their_own() -> None:
    config = tiny_config(n_layers=3, ffns=(Dense(), Gated(), Dense()))
    rows = [row for row in parameters.formulas(config) if row.part == "ffn"]
    assert [row.copies for row in rows] == [2, 1]
    assert [term.times for term in rows[1].terms] == [3]


@every
def test_the_tree_holds_every_parameter_once(config: ModelConfig) -> None:
    model = Transformer(config)
    node = parameters.tree(model)
    assert node.size == sum(weight.numel() for weight in model.parameters())
    assert node.size == sum(child.size for child in node.children)
    stacks = {child.name: child for child in node.children if child.name in config.sides}
    assert set(stacks) == set(config.sides)
    for side, stack in stacks.items():
        (blocks,) = (child for child in stack.children if child.name == "blocks")
        (block,) = blocks.children  # all alike, so one stands for them
        assert block.copies == config.depth(side)
        assert block.size == block.copies * sum(parameters.count(model.stack(side).block(0)).values())
    unembedding = {path: leaf for path, leaf in parameters.leaves(node) if path == "head.unembedding"}
    if config.has_logits:
        leaf = unembedding["head.unembedding"]
        assert leaf.shapes["weight"] == (config.n_vocab, config.d_model)
        assert leaf.shared == ("embedding.weight" if config.tie_embeddings else None)
    else:
        assert not unembedding


def test_blocks_that_differ_are_not_folded_together() -> None:
    model = random_model(tiny_config(n_layers=3))
    model.stack("decoder").blocks[1].ffn = torch.nn.Linear(24, 24)
    stack = parameters.tree(model.stack("decoder"))
    (blocks,) = (child for child in stack.children if child.name == "blocks")
    assert [child.name for child in blocks.children] == ["0", "1", "2"]


def test_published_totals() -> None:
    totals = {row.name: sum(parameters.of_config(row.config).values()) for row in REFERENCES}
    # Of the released weights; BERT with its masked-word head, without the pooler.
    assert totals["GPT-2 small (2019)"] == 124_439_808
    assert totals["BERT base (2018)"] == 109_514_298
    assert totals["T5 small (2020)"] == 60_506_624
    assert totals["Qwen3-14B (2025)"] == 14_768_307_200
    # The paper rounds, and gives its vocabulary as "about 37000".
    assert totals["Transformer base (2017)"] == pytest.approx(65e6, rel=0.04)
    assert totals["Transformer big (2017)"] == pytest.approx(213e6, rel=0.01)


@every
def test_the_cache_is_as_large_as_the_real_one(config: ModelConfig) -> None:
    if config.kind == "encoder":
        with pytest.raises(ValueError, match="encoder"):
            kv_cache.cache(config, 5, config.n_kv_heads, 4)
        return
    model, kept = random_model(config), None
    ids, source = torch.arange(5)[None], torch.arange(7)[None]
    with torch.inference_mode():
        kept = model.new_cache()
        if config.kind == "decoder":
            model(ids, cache=kept)
        else:
            model(source, ids, cache=kept)
    n_bytes = {"attn": 0, "cross": 0}
    for layer in kept:
        for name in n_bytes:
            held = getattr(layer, name)
            n_bytes[name] += sum(x.numel() * x.element_size() for x in (held.k, held.v) if x is not None)
    found = kv_cache.cache(config, 5, config.n_kv_heads, 4, n_source=7)
    assert found.cross_attention == n_bytes["cross"]
    # The decoder of this package keeps what lies before a window too.
    a_layer = 2 * config.n_kv_heads * config.d_head * 4
    spared = sum(5 - min(5, window or 5) for window in config.windows)
    assert found.self_attention == n_bytes["attn"] - a_layer * spared
    assert found.total == found.self_attention + found.cross_attention


def test_the_largest_published_model_as_its_paper_states_it() -> None:
    """Brown et al. 2020, table 2.1: 96 layers of 12,288, 96 heads of 128, 175.0 billion parameters."""
    t5 = vm.load("translate-t5")
    look = islands.beside(islands.look(vm.load("story-pre-ln").trace("The cat"), PAGE), t5)
    view = where.whole_models(look)
    config = next(row.config for row in REFERENCES if row.name == "GPT-3 (2020)")
    assert (config.n_layers, config.d_model, config.n_heads, config.d_head) == (96, 12_288, 96, 128)
    counts = view.counts[view.names.index("GPT-3 (2020)")]
    assert counts.sum() == pytest.approx(175e9, rel=0.005)
    assert where.LARGEST.of(float(counts.max() / counts.sum())).name == "half"
    assert where.VOCABULARY.of(view.vocabulary()).name == "falls"
    sizes = scale.view(look)
    assert sizes.parameters[0] == view.counts[0].sum() and sizes.blocks[sizes.names.index("GPT-2 small (2019)")] == 12
    assert sizes.parameters[1] == sum(weight.numel() for weight in t5.model.parameters())
    (drawn,) = scale.draw(look).series
    assert [*drawn.values] == sizes.parameters.tolist() and len(drawn.at) == len(sizes.names)


def test_the_norms_of_two_stacks_are_one_row_of_the_table() -> None:
    parts = {part.name: part for part in described(mixed_norms()[0])}
    assert (parts["norm_at"].said, parts["final_norm"].said) == ("post_pre", "yes")
