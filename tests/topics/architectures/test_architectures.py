"""Two models side by side: parts, plans, masks, one sentence, and the pictures of them."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.config import LanguageHead, LayerNorm, ModelConfig, NoHead, RMSNorm, Rope
from viz_model.drawing.digits import byte_size
from viz_model.model.transformer import Transformer
from viz_model.topics.architectures.numbers import architectures, parameters, views
from viz_model.topics.architectures.numbers.references import REFERENCES
from viz_model.topics.architectures.pictures import (
    cache,
    common,
    formulas,
    parts,
    sight,
    tree,
    where,
)
from viz_model.topics.architectures.pictures.compared import draw_choices, draw_depth, draw_pattern

CONFIGS = variants()
every = pytest.mark.parametrize("config", CONFIGS, ids=describe)
SPEAK = {language: texts.Texts(language) for language in texts.LANGUAGES}


def words(key: str, **values: object) -> str:
    return SPEAK["en"](f"architectures.{key}", **values)


def is_filled(text: str) -> bool:
    return bool(text) and "{{" not in text


@every
def test_every_part_is_said_and_explained_in_every_language(config: ModelConfig) -> None:
    parts = architectures.parts(language_model(config))
    assert [part.name for part in parts] == [part.name for part in architectures.parts(language_model(CONFIGS[0]))]
    for part in parts:
        for t in SPEAK.values():
            assert is_filled(t(f"architectures.part_{part.name}"))
            assert is_filled(t(f"architectures.why_{part.name}"))
            assert is_filled(t(f"architectures.is_{part.said}", **part.values))
            assert is_filled(t(f"common.page_{part.page}"))


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
    rows = parts.part_rows(language_model(tiny_config()), language_model(tiny_config(**changes)))
    assert {row.first.name for row in rows if row.differs} == differ
    facts = parts.part_facts(rows, words, ", ".join)
    assert facts["differ"] == str(len(differ)) and facts["all"] == str(len(rows))
    scene = parts.parts_scene(rows, ("a", "b"), words, SPEAK["en"])
    assert sum(row["differs"] for row in scene["rows"]) == len(differ)
    assert str(len(rows) - len(differ)) in scene["words"]["same"]


@pytest.mark.parametrize("config", [CONFIGS[0], CONFIGS[3], CONFIGS[-1]], ids=describe)
def test_the_tree_sent_to_the_page_adds_up(config: ModelConfig) -> None:
    node = parameters.tree(Transformer(config))
    scene = tree.tree_scene(node, words)
    root = scene["root"]
    assert root["share"] == 1
    assert sum(child["share"] for child in root["children"]) == pytest.approx(1)
    assert int(root["size"].replace(",", "")) == node.size
    said = str(scene)
    assert ("shares embedding.weight" in said) == (config.has_logits and config.tie_embeddings)


@every
def test_bars_hold_the_counts_of_the_model(config: ModelConfig) -> None:
    lm = language_model(config)
    whole, blocks = views.whole_models(lm), views.one_block(lm)
    assert whole.counts[0].sum() == sum(weight.numel() for weight in lm.model.parameters())
    assert whole.loaded == (True, *[False] * len(REFERENCES))
    for row, side in enumerate(config.sides):
        block = lm.model.stack(side).block(0)
        assert blocks.counts[row].sum() == sum(weight.numel() for weight in block.parameters())
        assert blocks.stacks[row] == (side if len(config.sides) > 1 else None)
        ffn = sum(weight.numel() for weight in block.ffn.parameters())
        assert blocks.share(row, "ffn") == pytest.approx(ffn / blocks.counts[row].sum())
    np.testing.assert_allclose(whole.shares.sum(1), 1)
    drawn = where.draw_where(whole, words).drawn()
    np.testing.assert_allclose(sum(bar.x for bar in drawn.data), 1)
    labels = drawn.layout.yaxis.ticktext
    assert ["◇" in label for label in labels] == [not here for here in whole.loaded]
    assert all(common.short(int(n)) in label for label, n in zip(labels, whole.counts.sum(1), strict=True))
    labels = where.draw_where(blocks, words).drawn().layout.yaxis.ticktext
    assert all((side or "") in label for label, side in zip(labels, blocks.stacks, strict=True))


def test_the_paper_puts_two_thirds_of_an_encoder_block_into_the_feed_forward() -> None:
    view = views.one_block()
    row = view.names.index("Transformer base (2017)")
    assert view.stacks[row] == "encoder"
    assert view.facts(row, words)["ffn"] == "67%"


@every
def test_the_cache_is_drawn_for_models_that_write(config: ModelConfig) -> None:
    lm = language_model(config)
    view = views.cache_view([lm], 5, 4)
    assert ("tiny" in view.names) == (config.kind != "encoder")
    assert not any(name.startswith("BERT") for name in view.names)
    assert (view.mqa <= view.own).all() and (view.own <= view.mha).all()
    np.testing.assert_allclose(view.mha / view.mqa, view.n_heads)
    np.testing.assert_allclose(view.own / view.mqa, view.n_kv_heads)
    section, facts = cache.cache_facts(config, 5, 4)
    if config.kind == "encoder":
        assert section == "cache_none"
    else:
        assert section == {1: "cache_mqa", config.n_heads: "cache_mha"}.get(config.n_kv_heads, "cache_gqa")
        own = 2 * config.n_layers * config.n_kv_heads * config.d_head * 4
        assert facts["own"] == f"{own:,}"
    for t in SPEAK.values():
        assert "{{" not in t.prose(f"architectures.{section}", model="`tiny`", **facts)
    drawn = cache.draw_cache(view, words).drawn()
    assert len(drawn.data) == 3


def test_no_text_is_counted_beyond_its_model_s_context() -> None:
    lm = language_model(tiny_config(n_context=16))
    long, full = (views.cache_view([lm], length, 2) for length in (4096, 16))
    assert long.lengths[0] == 16 and long.own[0] == full.own[0]


def test_qwen3_keeps_a_fifth_of_what_a_key_for_every_head_would_cost() -> None:
    view = views.cache_view([], 1, 2)
    row = view.names.index("Qwen3-14B (2025)")
    assert view.own[row] == 2 * 40 * 8 * 128 * 2
    assert view.mha[row] == 5 * view.own[row]


@every
def test_sight_is_what_the_model_s_masks_allow(config: ModelConfig) -> None:
    config = dataclasses.replace(config, windows=())
    model = Transformer(config)
    cells = architectures.sight(config.kind, 4, 3)
    if config.kind != "encoder_decoder":
        visible = model.stack(config.sides[0]).visible(0, 4, 4).numpy()
        assert ((cells == architectures.SEEN) == visible).all() and cells.max() == architectures.SEEN
        return
    assert ((cells[:4, :4] == architectures.SEEN) == model.stack("encoder").visible(0, 4, 4).numpy()).all()
    assert ((cells[4:, 4:] == architectures.SEEN) == model.stack("decoder").visible(0, 3, 3).numpy()).all()
    assert (cells[:4, 4:] == architectures.HIDDEN).all() and (cells[4:, :4] == architectures.SEEN_ACROSS).all()


def test_a_mask_s_picture_has_a_sign_in_every_cell_that_is_seen() -> None:
    view = sight.SightView.of("encoder_decoder", ["a", "<b>", "$"], ["x"] * 20)
    assert view.split == 3 and len(view.labels) == 3 + sight.SIGHT_TOKENS
    drawn = sight.draw_sight(view, words).drawn()
    assert [*map(bool, drawn.data[1].text)] == (view.cells > 0).ravel().tolist()
    assert "<b>" not in str(drawn.to_dict()["layout"]) and "&lt;b&gt;" in str(drawn.to_dict()["layout"])


@every
def test_one_sentence_is_read_off_the_trace(config: ModelConfig) -> None:
    lm = language_model(config)
    run = run_both(lm)
    for side in config.sides:
        trace = run.at(side)
        depths = architectures.depths(trace)
        assert depths.lengths.shape == (config.depth(side) + 1, len(trace))
        for site, lengths in zip(depths.sites, depths.lengths, strict=True):
            np.testing.assert_allclose(lengths, trace[site].norm(dim=-1), rtol=1e-6)
        pattern = architectures.pattern(trace, 1, 1)
        np.testing.assert_allclose(np.nansum(pattern, 1), 1, rtol=1e-5)
        visible = trace.stack.visible(1, len(trace), len(trace)).numpy()
        assert (np.isfinite(pattern) == visible).all()
        token = len(trace) - 1
        best = views.most_looked_at(trace, 1, 1, token)
        assert best.weight == pytest.approx(float(np.nanmax(pattern[token])))
        drawn = draw_pattern(views.pattern_view(trace, 1, 1, ("q", "k")), "a").drawn()
        np.testing.assert_allclose(drawn.data[0].z, pattern, atol=1e-6)
        depth = views.depth_view(("a", "b"), (trace, trace))
        assert depth.share[0][0] == 0 and depth.share[0][-1] == 1
        np.testing.assert_allclose(depth.mean[0], depths.lengths.mean(1))
        assert len(draw_depth(depth, words).drawn().data) == 2
        apart = views.apart_view((trace, trace))
        assert apart is not None and apart.distances.shape == (trace.n_layers, config.n_heads)
        assert not apart.distances.any()
    if config.has_logits:
        trace = run.at(config.sides[-1])
        choices = views.choices_view(trace, 0, 4)
        np.testing.assert_allclose(choices.probs, trace["probs"][0].topk(4).values, rtol=1e-5)
        assert list(draw_choices(choices, 1, "a").drawn().data[0].x) == list(choices.probs)
        own = trace["probs"][0, trace.tokens[0].id].item()
        assert views.own_probability(trace, 0) == pytest.approx(own)


def test_a_long_text_s_pattern_is_pooled_and_loses_no_peak() -> None:
    trace = run_both(language_model(tiny_config(n_context=256)), length=200)
    view = views.pattern_view(trace, 0, 0, ("q", "k"))
    assert len(view.rows) <= views.MOST_CELLS and view.values.shape == (len(view.rows),) * 2
    assert np.nanmax(view.values) == pytest.approx(np.nanmax(architectures.pattern(trace, 0, 0)))
    assert np.isnan(view.values[0, -1]) and np.isfinite(view.values[-1, 0])


@pytest.mark.parametrize(("position", "expected"), [(0, 1), (1, 2), (2, 4)])
def test_the_same_place_in_another_cut(position: int, expected: int) -> None:
    """The, cat, sat beside T, he, cat, s, at."""
    assert architectures.same_place([3, 4, 4], position, [1, 2, 4, 2, 2]) == expected


def test_the_same_place_always_exists() -> None:
    cut, other = [1] * 7, [0, 3, 0, 4, 0]
    assert {architectures.same_place(cut, i, other) for i in range(7)} <= set(range(5))
    assert architectures.same_place(cut, 6, other) == 4
    assert architectures.same_place([1], 0, [1]) == 0


def test_control_tokens_move_no_place() -> None:
    inner, other = (vm.load(name).trace("The cat sat on the mat.") for name in ("story-bert", "story-post-ln"))
    places = {token: views.nearest_place(inner, other, 0, 0, token)[2] for token in range(1, len(inner) - 1)}
    assert [inner.tokens[token].text for token in places] == [other.tokens[there].text for there in places.values()]


def test_the_partner_is_the_twin_or_else_the_model_that_is_most_alike() -> None:
    decoder, encoder = tiny_config(), tiny_config(kind="encoder")
    configs = {"a": decoder, "b": encoder, "c": tiny_config(qk_norm=True)}
    assert architectures.default_partner("a", "b", configs) == "b"
    assert architectures.default_partner("a", "gone", configs) == "c"
    assert architectures.default_partner("a", None, {"a": decoder, "b": encoder}) == "b"
    assert architectures.default_partner("a", None, {"a": decoder}) is None


def test_the_nearest_model_stands_before_in_the_list_and_is_of_its_kind() -> None:
    configs = {
        "plain": tiny_config(),
        "post": tiny_config("post"),
        "encoder": tiny_config("post", kind="encoder"),
        "normed": tiny_config("post", qk_norm=True, norm=LayerNorm(eps=1e-6)),
        "other": tiny_config("post", qk_norm=True, norm=RMSNorm()),
    }
    found = {name: architectures.nearest(name, configs) for name in configs}
    # The first is compared with those behind it.
    told = {name: kin and (kin.name, {part.name: part.said for part in kin.differs}) for name, kin in found.items()}
    assert told == {
        "plain": ("post", {"norm_at": "pre", "final_norm": "yes"}),
        "post": ("plain", {"norm_at": "post", "final_norm": "no"}),
        "encoder": ("post", {"kind": "encoder"}),
        "normed": ("post", {"qk_norm": "yes"}),
        "other": ("normed", {"norm": "rmsnorm"}),
    }
    assert architectures.nearest("plain", {"plain": tiny_config()}) is None


@every
def test_formulas_come_out_at_the_model_s_size(config: ModelConfig) -> None:
    said = formulas.formulas(config, words, SPEAK["en"].site_label)
    ends = [re.findall(r"\\mathbf\{([\d{},]+)\}\\end", latex) for _, latex in said]
    total = sum(int(re.sub(r"\D", "", end[0])) for end in ends)
    assert total == sum(weight.numel() for weight in Transformer(config).parameters())
    for _, latex in said:
        symbols, numbers = latex.split(r"\\")
        assert not re.search(r"\d{3,}", symbols.replace("aligned", ""))
        left = re.split(r" = \\mathbf", numbers.replace(r"\end{aligned}", ""))[0].removeprefix(" &= ")
        plain = left.replace(r"\cdot", "*").replace("{,}", "").replace(r"\left", "").replace(r"\right", "")
        assert re.fullmatch(r"[\d\s*+()]+", plain)
        assert eval(plain) == int(re.sub(r"\D", "", re.findall(r"\\mathbf\{(.*)\}", numbers)[0]))


@every
def test_a_block_by_hand_adds_up(config: ModelConfig) -> None:
    for side in config.sides:
        block = Transformer(config).stack(side).block(0)
        said = formulas.by_hand(parameters.tree(block))
        for factors, product in re.findall(r"&\\quad (.*?) &&= ([\d{},]+) ", said["lines"]):
            assert eval(factors.replace(r"\cdot", "*").replace("{,}", "")) == int(product.replace("{,}", ""))
        names = re.findall(r"texttt\{(.*?)\}:", said["lines"])
        own = {name.rpartition(".")[0].replace("_", r"\_") for name, _ in block.named_parameters()}
        assert set(names) == own and len(names) == len(own)
        parts = [int(part.replace("{,}", "")) for part in re.findall(r"&&= ([\d{},]+) ", said["lines"])]
        assert sum(parts) == sum(weight.numel() for weight in block.parameters())
        assert f"{sum(parts):,}" == said["total"]
        assert int(said["ffn"].replace(",", "")) == sum(weight.numel() for weight in block.ffn.parameters())


def test_tables_of_published_and_counted_sizes() -> None:
    published = where.reference_columns(words)
    assert len({len(column) for column in published.values()}) == 1
    assert "124,439,808" in published[words("reference_counted")]
    lm = language_model(tiny_config())
    counted = where.count_columns(views.whole_models(lm), words)
    assert counted[words("where_total")][0] == sum(weight.numel() for weight in lm.model.parameters())


@pytest.mark.parametrize(("n", "said"), [(0, "0"), (849, "849"), (3_352_704, "3.35 M"), (14_768_307_200, "14.8 B")])
def test_large_numbers_are_short(n: int, said: str) -> None:
    assert common.short(n) == said


@pytest.mark.parametrize(("n", "said"), [(768, "768 B"), (1536, "1.5 KiB"), (2**20, "1 MiB"), (5 * 2**30, "5 GiB")])
def test_bytes_are_short(n: int, said: str) -> None:
    assert byte_size(n) == said


def test_edits_and_other_masks_are_shown_as_they_were_run() -> None:
    lm = language_model(tiny_config(n_layers=2))
    mask = torch.ones(5, 5, dtype=torch.bool)
    run: vm.Trace = lm.trace(ids=[1, 2, 3, 4, 5], mask=mask)
    assert np.isfinite(architectures.pattern(run.at("decoder"), 0, 0)).all()
