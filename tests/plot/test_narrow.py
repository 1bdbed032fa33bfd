"""Figures in a column of a paper: nothing that is written crosses the edge, touches its neighbor, or is too small."""

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import written_boxes
from bundled_models import NAMES, example

import viz_model as vm
from viz_model.drawing.scene.svg import MILLIMETRES
from viz_model.plot import Figure

COLUMN, PAGE = 85, 170
"""Millimetres."""

SMALLEST = 8
"""Pixels, which are 6 points."""

TEXT = "Donaudampfschifffahrt met the ❤️ 猫, and said 你好 to <|endoftext|> pneumonoultramicroscopic."
PLACES: dict[str, dict[str, int]] = {
    "head": {"layer": 1, "head": 2},
    "steps": {"layer": 1, "head": 2},
    "painted": {"layer": 1, "head": 2},
    "block": {"layer": 1},
    "cross": {"layer": 1, "head": 2},
}
DRAWN = [name for name in vm.plot.__all__ if name not in ("Figure", "Grid", "grid", "show")]
ONLY = {
    "painted": ["digits-vit", "read-digits"],
    "experts": ["story-moe"],
    "cross": ["translate-2017", "translate-t5", "read-digits"],
}
OF_TEXT = ("tokens", "embedding", "logit_lens", "next_tokens", "compare")
FIGURES = [
    (model, name)
    for name in DRAWN
    for model in NAMES
    if model in ONLY.get(name, NAMES) and (model != "digits-vit" or name not in OF_TEXT)
]
KEPT = {name: (model, name) for model, name in FIGURES}.values()
CASES = [pytest.param(*case, marks=() if case in KEPT else pytest.mark.full) for case in FIGURES]


@cache
def unusual(model: str) -> vm.Trace:
    """A run of a text with a long word, an emoji, Chinese and a special token; of a picture, as it is."""
    lm = vm.load(model)
    if lm.config.reads_pictures:
        return example(lm)
    target = {} if len(lm.config.sides) == 1 else {"target": TEXT}
    return lm.trace(TEXT, **target)  # type: ignore[arg-type]


def drawn(name: str, trace: vm.Trace, lang: str) -> Figure:
    make: Callable[..., Figure] = getattr(vm.plot, name)
    beside: list[Any] = [vm.load("story-post-ln").trace("The cat")] if name == "compare" else []
    place = dict(PLACES.get(name, {}))
    if "layer" in place and not trace.config.attends:
        place["layer"] = trace.n_layers - 1
    return make(trace, *beside, **place, lang=lang, theme="paper")


@pytest.mark.parametrize(("model", "name"), CASES)
def test_a_narrow_figure_is_whole(model: str, name: str) -> None:
    for lang, width in itertools.product(("en", "zh"), (COLUMN, PAGE)):
        found = written_boxes.read(drawn(name, unusual(model), lang).svg(width / MILLIMETRES))
        assert not written_boxes.beyond(found), width
        assert not written_boxes.touching(found), width
        assert min(box.size for box in found.boxes) >= SMALLEST
