"""The page of the batch: any model, both languages, sentences that are chosen, and words that are its numbers'."""

from __future__ import annotations

from dataclasses import replace

import islands
import numpy as np
import pytest
import torch

import viz_model as vm
from viz_model.island.look import Look
from viz_model.topics.batch import PAGE, norms, tabs
from viz_model.topics.batch.rows import BESIDE, OTHERS
from viz_model.topics.batch.run import row, together

TEXT = "The cat sat on the mat"


def looking(model: str, text: str, lang: str = "en", side: str = "decoder", **options: str) -> Look:
    run = vm.load(model).trace(text, "le chat" if model.startswith("translate") else None)
    seen = run.at(side) if len(run.config.sides) > 1 else run  # type: ignore[arg-type]
    return replace(islands.look(seen, PAGE, lang), options=options)


def sentences(look: Look, **place: int) -> str:
    return "\n".join(islands.sentences(PAGE, look, **place))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_shows_its_batch(lang: str) -> None:
    look, lm = looking("story-pre-ln", TEXT, lang), vm.load("story-pre-ln")
    found = together(lm.model, [row(lm, text) for text in (TEXT, *BESIDE)])
    told = sentences(look, token=2, layer=1)
    assert "{{" not in told and "nan" not in told
    assert f"{found.loss:.3f}" in told and f"{found.counted:.3f}" in told
    assert "13 3296 88861" in told and "627 1383 88861" in told
    if lang == "en":
        assert "Every row is as if it were alone" in told and "no more than rounding" in told
        assert "to the last digit" in told and f"{int(found.padding.sum())} of {found.padding.size} positions" in told
    pictures = islands.pictures(PAGE, look)
    texts = [text for mark in pictures["batch.ids"].panels[0].marks for text in getattr(mark, "texts", ())]
    assert {str(id) for id in found.ids.ravel()} <= {text[-1][0].text for text in texts if not isinstance(text, str)}
    shapes = {getattr(mark, "text", "") for mark in pictures["batch.shapes"].panels[0].marks}
    assert "(B, T, V)" in shapes and f"({', '.join(map(str, found.shape))})" in shapes


@pytest.mark.parametrize(("layer", "token"), [(0, 1), (2, 4), (3, 0)])
def test_what_neighbors_change_is_told_of_the_selection(layer: int, token: int) -> None:
    lm, look = vm.load("story-pre-ln"), looking("story-pre-ln", TEXT)
    own, *near = (row(lm, text).run[f"blocks.{layer}.resid.in"] for text in (TEXT, *BESIDE))
    far = [row(lm, text).run[f"blocks.{layer}.resid.in"] for text in OTHERS]
    told = sentences(look, layer=layer, token=token)
    for n in (3, 1):
        here, there = (norms.batch_norm(torch.cat([own, *rows[:n]]))[token] for rows in (near, far))
        assert f"{float((there - here).norm() / here.norm()):.1%}" in told
    label, feature = look.trace.tokens[token].label, int(own[token].abs().argmax())
    assert f"of {label} stays the same" in told and f"enters block {layer}," in told
    by_hand = tabs._by_hand(replace(look, layer=layer, token=token))
    column = np.concatenate([each[:, feature] for each in (own, *near)])
    assert by_hand["d"] == feature and by_hand["feature_deviation"] == f"{np.sqrt(column.var() + norms.EPS):.4f}"
