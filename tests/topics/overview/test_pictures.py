"""What the overview draws is the trace, and pooling never invents a value."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scenes
import torch
from tiny_models import describe, language_model, run_both, tiny_config, variants

import viz_model as vm
from viz_model import texts
from viz_model.config import ModelConfig
from viz_model.drawing.writing import percent
from viz_model.tokenizers.tokenizer import story_tokenizer
from viz_model.topics.overview import numbers as story
from viz_model.topics.overview.claims import NEXT, Next
from viz_model.topics.overview.numbers import views
from viz_model.topics.overview.numbers.things_to_try import things_to_try
from viz_model.topics.overview.pictures import overview

every = pytest.mark.parametrize("config", variants(), ids=describe)


@pytest.fixture
def trace(lm: vm.LanguageModel) -> vm.Trace:
    return lm.trace("the cat sat on the mat")


def visible(trace: vm.Trace, layer: int, head: int) -> np.ndarray:
    """The pattern of a head, with −1 where the mask hides."""
    at = f"blocks.{layer}.attn."
    return np.where(trace[at + "mask"][head].isinf(), -1, trace[at + "pattern"][head]).astype(np.float32)


@every
def test_every_part_is_a_value_of_the_run(config: ModelConfig) -> None:
    run = run_both(language_model(config))
    for trace in (run.at(side) for side in config.sides):
        view = views.overview_view(trace, 2)
        assert [strip.part for strip in view.strips] == [
            part for part, site in (("embedding", "embed.token"), ("position", "embed.position")) if site in trace
        ]
        for strip in view.strips:
            np.testing.assert_array_equal(strip.values, run[strip.site].numpy())
        for block in view.blocks:
            np.testing.assert_allclose(block.pattern, visible(trace, block.layer, block.head), atol=1e-6)
            lengths = trace[f"blocks.{block.layer}.resid.out"].norm(dim=-1)
            np.testing.assert_allclose(block.norm, lengths.numpy(), rtol=1e-5)
        if "logits" in trace:
            assert view.next_tokens == tuple((t.label, p) for t, p in trace.next_tokens(2, views.N_NEXT))
            assert view.vectors is None
        else:
            assert view.next_tokens == () and view.vectors is not None
            np.testing.assert_array_equal(view.vectors.values, run[view.vectors.site].numpy())
        assert (view.read is None) == ("blocks.0.cross.q" not in trace)
        if view.read is not None:
            weights = trace[f"blocks.{view.read.layer}.cross.pattern"][:, 2]
            assert view.read.weight == pytest.approx(weights.max().item()) and view.read.position < len(run.ids)


def test_a_long_text_is_pooled_to_values_of_the_run(bundled: vm.LanguageModel) -> None:
    trace = bundled.trace("once upon a time " * 60)
    view = views.overview_view(trace.at("decoder"), len(trace) - 1)
    embedding = view.strips[0].values
    assert view.pool > 1 and len(embedding) <= views.MAX_ROWS
    recorded = trace["embed.token"].numpy()
    for row in (0, len(embedding) - 1):
        group = recorded[row * view.pool : (row + 1) * view.pool]
        np.testing.assert_array_equal(np.abs(embedding[row]), np.abs(group).max(axis=0))
    # Nothing behind the diagonal is shown as a weight, also in the group that is not full.
    assert (view.blocks[0].pattern[np.triu_indices(len(embedding), 1)] == overview.HIDDEN).all()


def test_deep_models_show_some_of_their_blocks() -> None:
    lm = language_model(tiny_config(n_layers=20))
    trace = run_both(lm).at("decoder")
    layers = [block.layer for block in views.overview_view(trace, 1, layer=13).blocks]
    assert len(layers) == views.MAX_BLOCKS and {0, 13, 19} <= set(layers) and layers == sorted(set(layers))


@pytest.mark.parametrize(("n_layers", "chosen"), [(1, 0), (6, 3), (7, 0), (7, 5), (30, 29), (30, 2), (40, 17)])
def test_layers_are_spread_evenly(n_layers: int, chosen: int) -> None:
    layers = story.evenly(n_layers, chosen, 6)
    assert len(layers) == min(6, n_layers) and {0, chosen, n_layers - 1} <= set(layers)
    assert list(layers) == sorted(set(layers))


WORDS = {word: f"<{word}>" for word in (*overview.WORDS, "next", "after")} | {"every": "# of @", "dimensions": "#"}


def drawn(view: overview.OverviewView, trace: vm.Trace) -> scenes.Sent:
    return scenes.sent(overview.scene(view, ["does"] * len(view.blocks), trace.prefix, WORDS))


@every
@pytest.mark.parametrize("which", [0, -1])
def test_the_picture_holds_all_numbers_in_order(which: int, config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[which])
    view = views.overview_view(trace, 1)
    found = drawn(view, trace)
    ends = [] if view.vectors is None else [view.vectors]
    strips = [f"strip.{strip.part}" for strip in (*view.strips, *ends)]
    blocks = [f"block.{block.layer}" for block in view.blocks]
    n = len(view.strips)
    assert found.panels() == ["tokens", *strips[:n], *blocks, *(strips[n:] or ["next"])]
    for panel, strip in zip(strips, (*view.strips, *ends), strict=True):
        np.testing.assert_array_equal(found.mark("cells", panel=panel)["values"], strip.values.astype(np.float32))
    for panel, block in zip(blocks, view.blocks, strict=True):
        cells = found.mark("cells", panel=panel)["values"]
        np.testing.assert_array_equal(cells, np.where(block.pattern == overview.HIDDEN, np.nan, block.pattern))
        np.testing.assert_array_equal(found.mark("lengths", panel=panel)["values"][:, 0], block.norm.astype(np.float32))
        bars = [found.mark(f"length.{row}", panel=panel)["width"][0] for row in range(len(block.norm))]
        longest = max(each.norm.max() for each in view.blocks)
        np.testing.assert_allclose(bars, 0.3 * block.norm / longest, rtol=1e-5)
        place = {"page": "attention", "layer": block.layer, "head": block.head}
        assert found.mark("open", panel=panel)["act"] == {"pick": place}
    asked = list(found.cells())
    assert len(asked) == len(strips) + len(blocks) + len(view.next_tokens)
    for of_run, values in asked:
        site, index = of_run.at(0, 0) or ("", ())
        assert values[0, 0] == pytest.approx(trace.whole[site][index].item(), abs=1e-6)


@every
def test_the_selected_row_and_the_guesses_are_those_of_the_token(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at(config.sides[-1])
    view = views.overview_view(trace, 2)
    found = drawn(view, trace)
    rows = {row: found.mark(f"row.{row}", panel="tokens") for row in range(len(trace))}
    assert max(rows, key=lambda row: rows[row]["opacity"]) == 2
    assert all(mark["act"] == {"select": {"token": row}} for row, mark in rows.items())
    for n, (label, probability) in enumerate(view.next_tokens):
        assert found.mark(f"bar.{n}")["width"] == [pytest.approx(probability), 0]
        assert found.mark(f"share.{n}")["text"] == percent(probability)
        assert found.mark(f"cell.{n}")["values"] == np.float32(probability)
        assert found.mark(f"cell.{n}")["names_of_rows"] == [label]


def test_wide_strips_are_thinned_to_dimensions_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "MOST_NUMBERS", overview.MOST_NUMBERS // 10)
    trace = run_both(language_model(tiny_config(d_model=600, n_heads=2, d_ffn=8))).at("decoder")
    view = views.overview_view(trace, 1)
    found = drawn(view, trace)
    every, of = map(int, found.mark("beside", panel="strip.embedding")["text"].split(" of "))
    cells = found.mark("cells", panel="strip.embedding")
    assert every > 1 and of == 600
    assert sum(mark["values"].size for mark in found.marks() if mark["kind"] == "cells") <= overview.MOST_NUMBERS
    np.testing.assert_array_equal(cells["values"], trace["embed.token"].numpy()[:, ::every])
    which, _ = next(found.cells())
    assert which.at(1, 2) == ("embed.token", (1, 2 * every))


@every
def test_things_to_try_are_changes_of_the_view(config: ModelConfig) -> None:
    run = run_both(language_model(config))
    for side in config.sides:
        for change in things_to_try(run.at(side), 1).values():
            assert change.keys() <= {"text", "target", "to", "token", "side"}


def test_the_end_of_a_text_is_no_guess_to_add() -> None:
    end = story_tokenizer().end_of_text or 0
    lm = language_model(tiny_config(n_vocab=story_tokenizer().n_vocab))
    for id, size in ((end, 1), (end, 20), (5, 1), (5, 20)):
        logits = size * torch.nn.functional.one_hot(torch.tensor([id] * 3), lm.config.n_vocab).float()
        trace = lm.trace(ids=[1, 2, 3])
        trace = dataclasses.replace(trace, values={**trace.values, "logits": logits}).at("decoder")
        best, chance = trace.next_tokens(2, 1)[0]
        said = NEXT.of(Next(chance, best.id == trace.tokenizer.end_of_text)).name
        assert said == {(end, 1): "may_end", (end, 20): "ends", (5, 1): "plain", (5, 20): "expects"}[id, size]
        assert ("guess" in things_to_try(trace, 2)) == (id != end)


def test_the_words_of_the_picture_are_in_the_texts() -> None:
    for language in texts.LANGUAGES:
        assert {f"scene_{word}" for word in overview.WORDS} <= texts.labels(language, "overview").keys()


@every
def test_the_path_of_a_number_adds_up_under_pre_ln(config: ModelConfig) -> None:
    run = run_both(language_model(config))
    for side in config.sides:
        trace = run.at(side)
        path = story.ascent(trace, dimension=5)
        pairs = zip(path.sites, path.values[:, 3].tolist(), strict=True)
        value = {site.removeprefix(trace.prefix): number for site, number in pairs}
        parts = [value[name] for name in ("embed.token", "embed.segment", "embed.position") if name in value]
        if not config.embedding_norm:
            assert value["embed.out"] == pytest.approx(sum(parts), abs=1e-5)
        before = value["embed.out"]
        for layer in range(trace.n_layers if config.norm_at == "pre" else 0):
            for written, after in (("attn.out", "mid"), ("cross.out", "cross"), ("ffn.out", "out")):
                if f"blocks.{layer}.{written}" in value:
                    expected = before + value[f"blocks.{layer}.{written}"]
                    before = value[f"blocks.{layer}.resid.{after}"]
                    assert before == pytest.approx(expected, abs=1e-5)


def test_norms_are_lengths(trace: vm.Trace) -> None:
    for name, row in zip(*story.ascent(trace).stream, strict=True):
        np.testing.assert_allclose(row, np.linalg.norm(trace[name].numpy(), axis=-1), rtol=1e-5)
