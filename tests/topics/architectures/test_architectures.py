"""Two models side by side: parts, plans, masks, one sentence, and what is said and drawn of them."""

import dataclasses
from typing import Any

import islands
import numpy as np
import pytest
from identities import stream_length
from tiny_models import describe, language_model, tiny_config, traced, variants, without_a_part

import viz_model as vm
from viz_model.config import Alibi, Dense, Gated, LanguageHead, ModelConfig, NoHead, NoPosition, RMSNorm, Rope, T5Bias
from viz_model.island.look import Look
from viz_model.model import sites
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures import PAGE, choices, depth, heads, pair, parameters, parts, scale, where
from viz_model.topics.architectures import plan as plans
from viz_model.topics.architectures.lineage import CHANGES, Change
from viz_model.topics.architectures.references import REFERENCES

CONFIGS = variants()
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)
OTHER = dataclasses.replace(tiny_config(n_kv_heads=1), n_layers=1)


def two(config: ModelConfig, other: ModelConfig = OTHER, lang: str = "en", **place: Any) -> Look:
    trace, lm = traced(config), language_model(other)
    second = traced(other)
    side = trace.config.sides[-1] if trace.config.sides[-1] in other.sides else other.sides[-1]
    return islands.beside(islands.look(trace.at(config.sides[-1]), PAGE, lang, **place), lm, second.at(side))


@pytest.mark.parametrize(
    ("changes", "differ"),
    [
        ({}, set()),
        ({"norm_at": "post"}, {"norm_at", "final_norm", "parameters"}),
        ({"n_kv_heads": 1}, {"kv_heads", "parameters"}),
        ({"norm": RMSNorm(eps=1e-5)}, {"norm", "parameters"}),
        ({"position": Rope()}, {"position"}),
        ({"tie_embeddings": False}, {"tied", "parameters"}),
        ({"scale_scores": False}, {"scale_scores"}),
        ({"head": LanguageHead(scale=True)}, {"head_scale"}),
        ({"windows": (3, 0)}, {"windows"}),
        ({"kind": "encoder"}, {"kind"}),
        ({"kind": "encoder", "head": NoHead()}, {"kind", "head", "tied", "head_scale", "head_bias"}),
        ({"n_context": 8}, {"context"}),
    ],
)
def test_the_parts_that_differ_are_those_that_were_changed(changes: dict[str, Any], differ: set[str]) -> None:
    look = two(tiny_config(), tiny_config(**changes))
    assert {row.first.name for row in parts.rows(look) if row.differs} == differ
    assert sum(row["differs"] for row in parts.draw(look).data["rows"]) == len(differ)


@every
def test_bars_hold_the_counts_of_the_model(config: ModelConfig) -> None:
    look, model = two(config), Transformer(config)
    whole, blocks = where.whole_models(look), where.one_block(look, 0)
    assert whole.counts[0].sum() == sum(weight.numel() for weight in model.parameters())
    assert whole.loaded == (True, True, *[False] * len(REFERENCES))
    for row, side in enumerate(config.sides):
        block = model.stack(side).block(0)
        assert blocks.counts[row].sum() == sum(weight.numel() for weight in block.parameters())
        assert blocks.stacks[row] == (side if len(config.sides) > 1 else None)
        ffn = sum(weight.numel() for weight in block.ffn.parameters())
        assert blocks.share(row, "ffn") == pytest.approx(ffn / blocks.counts[row].sum())
    np.testing.assert_allclose(whole.shares.sum(1), 1)


@every
def test_one_sentence_is_read_off_the_trace(config: ModelConfig) -> None:
    for side in config.sides:
        trace = traced(config).at(side)
        look = islands.beside(islands.look(trace, PAGE), language_model(config), trace)
        _, lengths = depth.lengths(trace)
        ends = ("embed.out", *(f"blocks.{n}.resid.out" for n in range(trace.n_layers)))
        np.testing.assert_allclose(lengths, [stream_length(trace, site) for site in ends], rtol=1e-4)
        for one in pair.both(look):
            layer = 1 if 1 in look.layers else 0
            patterns = heads.weights(look, one)[look.layers.index(layer), 1]
            assert (np.isfinite(patterns) == trace.stack.visible(layer, len(trace), len(trace)).numpy()).all()
            np.testing.assert_allclose(np.nan_to_num(patterns), trace[f"blocks.{layer}.attn.pattern"][1], atol=1e-6)
            _, most = heads.strongest(look, one)
            np.testing.assert_allclose(most[0, 1], np.nanmax(heads.weights(look, one)[0, 1], -1))
        gaps = heads.distances(look)
        assert gaps is not None and not gaps.distances.any()
    for one in pair.both(look):
        seen = choices.found(look, one)
        assert (seen is not None) == config.has_logits
        if seen is not None:
            probs = trace["probs"]
            np.testing.assert_allclose(seen.probs, probs.topk(choices.MOST).values, rtol=1e-5)
            np.testing.assert_allclose(seen.own, probs[range(len(trace)), list(trace.own_ids)], rtol=1e-4)
            assert (seen.ids[:, 0] == probs.argmax(-1).numpy()).all()


def test_the_other_model_is_looked_at_where_it_has_the_place() -> None:
    config = tiny_config(n_layers=3, n_heads=4, n_kv_heads=4)
    other = tiny_config(n_layers=1, n_heads=2, n_kv_heads=2)
    look = two(config, other, layer=2, head=3, token=4)
    second = pair.both(look)[1]
    for layer, head in ((0, 0), (2, 3)):
        picture = islands.pictures(PAGE, look, layer=layer, head=head)["architectures.head1"]
        (cells,) = [mark for mark in picture.panels[0].marks if mark.id == "cells"]
        expected = traced(other)["blocks.0.attn.pattern"][min(head, 1)]
        np.testing.assert_allclose(np.nan_to_num(np.asarray(cells.values)), expected, atol=1e-6)  # type: ignore[union-attr]
        said = islands.sentences(PAGE, look, layer=layer, head=head, token=4)
        assert any(f"Head {min(head, 1)} of block 0 (of 0 to 0)" in line for line in said)
    chosen = dataclasses.replace(look, options={"other_token": "4.1"})
    assert list(pair.tokens_of(chosen, second)) == [
        *pair.tokens_of(look, second)[:4],
        1,
        *pair.tokens_of(look, second)[5:],
    ]


def test_control_tokens_move_no_place() -> None:
    inner, other = (vm.load(name).trace("The cat sat on the mat.") for name in ("story-bert", "story-post-ln"))
    places = pair.same_places(*map(pair.written, (inner, other)))[1:-1]
    assert [token.text for token in list(inner.tokens)[1:-1]] == [other.tokens[there].text for there in places]


def test_the_partner_is_the_twin_or_else_the_model_that_is_most_alike() -> None:
    decoder, encoder = tiny_config(), tiny_config(kind="encoder")
    configs = {"a": decoder, "b": encoder, "c": tiny_config(qk_norm=True)}
    assert parts.default_partner("a", "b", configs) == "b"
    assert parts.default_partner("a", "gone", configs) == "c"
    assert parts.default_partner("a", None, {"a": decoder, "b": encoder}) == "b"
    assert parts.default_partner("a", None, {"a": decoder}) is None


@every
def test_formula_declarations_and_the_built_model_agree(config: ModelConfig) -> None:
    model, found = Transformer(config), parameters.declared(config)
    counted = parameters.count(model)
    assert {name: weight.shape for name, (weight, _) in found.items()} == {
        name: tuple(parameter.shape) for name, parameter in model.named_parameters()
    }
    assert counted == parameters.of_config(config)
    rows = parameters.formulas(config)
    for part in parameters.PARTS:
        by_formula = sum(row.copies * row.value for row in rows if row.part == part)
        assert by_formula == counted[part], part


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


def test_the_largest_published_model_as_its_paper_states_it() -> None:
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


PER_LAYER = [
    tiny_config(ffns=(Dense(bias=False), Gated(bias=True)), windows=(3, 0)),
    tiny_config(position=NoPosition(), positions=(Alibi(), T5Bias(buckets=8, max_distance=12)), norm_at="post"),
]
CONFIGS_OF_PLAN = [*variants(), *without_a_part(), *PER_LAYER]
every_of_plan = pytest.mark.parametrize("config", CONFIGS_OF_PLAN, ids=describe)


@every_of_plan
def test_every_declared_value_is_in_the_plan_once(config: ModelConfig) -> None:
    for side in config.sides:
        for layer in range(config.depth(side)):
            declared = []
            for full, _ in sites.in_order(config):
                own, name = sites.split_side(full)
                if (own or config.sides[-1]) == side and sites.split_name(name)[0] in (None, layer):
                    declared.append(full)
            found = [site.full for element in plans.plan(config, side, layer) for site in element.sites]
            assert sorted(found) == sorted(declared)


@pytest.mark.parametrize("change", [one for one in CHANGES if one.other], ids=lambda one: one.name)
def test_the_pair_of_a_change_differs(change: Change) -> None:
    assert vm.load(change.model).config != vm.load(change.other).config
