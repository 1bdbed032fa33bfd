"""The length of the residual stream is one quantity on all pages: read off each of them for both twins."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import islands
import pytest
from identities import stream_length

import viz_model as vm
from viz_model.drawing.scene import Cells, Scene, Text, Texts
from viz_model.island.look import Look
from viz_model.island.page import Page
from viz_model.topics import architectures, attention, block, norm_placement, overview

TEXT, LAYER, TOKEN = "Tom had a cat and a dog", 1, 6


@functools.cache
def run(at: str) -> vm.Trace:
    return vm.load(f"story-{at}-ln").trace(TEXT)


def ends(at: str) -> list[float]:
    """The lengths of the token's stream before the first block and after each, before any norm on it."""
    sites = ("embed.out", *(f"blocks.{n}.resid.out" for n in range(run(at).n_layers)))
    return [round(float(stream_length(run(at), site)[TOKEN]), 1) for site in sites]


def look(page: Page, at: str) -> Look:
    found = islands.look(run(at), page, layer=LAYER, head=3, token=TOKEN)
    return replace(found, twin=run("post" if at == "pre" else "pre"))


def texts(scene: Scene, id: str) -> list[str]:
    marks = [mark for panel in scene.panels for mark in panel.marks]
    return [str(mark.text) for mark in marks if isinstance(mark, Text) and re.fullmatch(id, mark.id)]


@pytest.mark.parametrize("at", ("pre", "post"))
def test_all_pages_give_the_stream_one_length(at: str) -> None:
    own = ends(at)
    panels = islands.pictures(overview.PAGE, look(overview.PAGE, at))["overview.picture"].panels
    bars = [mark for panel in panels for mark in panel.marks if isinstance(mark, Cells) and mark.id == "lengths"]
    assert [round(float(bar.values[TOKEN, 0]), 1) for bar in bars] == own[1:]
    carried = islands.pictures(attention.PAGE, look(attention.PAGE, at))["attention.carries"]
    assert [float(said) for said in texts(carried, r"to\.length\.\d+")] == own
    through = f"{own[LAYER]:.1f} to {own[LAYER + 1]:.1f}"
    assert any(f"from length {through}" in said for said in islands.sentences(block.PAGE, look(block.PAGE, at)))
    drawn = islands.pictures(block.PAGE, look(block.PAGE, at))["block.norms"]
    (numbers,) = (mark for mark in drawn.panels[0].marks if mark.id == "numbers")
    assert isinstance(numbers, Texts) and [float(str(said)) for said in numbers.texts] == own
    lines = islands.pictures(norm_placement.PAGE, look(norm_placement.PAGE, at))["norm_placement.lines"]
    assert [float(said) for said in texts(lines, rf"{at}\.\d+\.length")[::2]] == own
    said = " ".join(islands.sentences(norm_placement.PAGE, look(norm_placement.PAGE, at)))
    name = {"pre": "Pre-LN", "post": "Post-LN"}[at]
    assert f"{name} {own[LAYER]:.1f} → {own[LAYER + 1]:.1f}" in said
    mean = architectures.depth.lengths(run(at))[1][:, TOKEN]
    assert mean.round(1).tolist() == pytest.approx(own, abs=0.051)
