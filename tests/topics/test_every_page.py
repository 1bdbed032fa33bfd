"""Every page, with all that opens on it, tells of a run of every kind of model: nothing in its texts is left open."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace

import islands
import pytest
from bundled_models import example
from tiny_models import describe, few, language_model, run_both

import viz_model as vm
from viz_model import topics
from viz_model.drawing.scene import Arrays, svg
from viz_model.island import message
from viz_model.texts import LANGUAGES

NAMES = [one.name for one in pkgutil.iter_modules(topics.__path__)]
BUNDLED = ("story-pre-ln", "story-moe", "story-modern", "story-none", "story-bert", "translate-t5", "digits-vit")
SIZES = {"n_vocab": 8192, "n_context": 32}
RUNS: dict[str, Callable[[], vm.Trace]] = {
    **{name: lambda name=name: example(vm.load(name)) for name in BUNDLED},
    **{describe(one): lambda one=one: run_both(language_model(replace(one, **SIZES))) for one in few()},
    "hostile": lambda: vm.load("story-pre-ln").trace("<b>x</b> $y$ `z` | \\ \u202e 👩‍👩‍👧"),
    "one token": lambda: vm.load("story-post-ln").trace("a"),
}
CASES = [
    pytest.param(name, run, marks=() if run in ("translate-t5", "digits-vit", "story-none") else pytest.mark.full)
    for name in NAMES
    for run in RUNS
]


@pytest.mark.parametrize(("name", "run"), CASES)
def test_a_page_is_whole(name: str, run: str) -> None:
    whole, topic = RUNS[run](), importlib.import_module(f"viz_model.topics.{name}").TOPIC
    sides = whole.config.sides[::-1]
    for n, side in enumerate(sides, NAMES.index(name) + list(RUNS).index(run)):
        lang = list(LANGUAGES)[n % len(LANGUAGES)]
        trace = whole.at(sides[0] if topic.part == "cross" else side)
        page = topic.page(trace.config)
        if page is None or name == "training_lab":  # which is no island
            continue
        look = islands.look(trace, page, lang, layer=trace.n_layers - 1, token=-1)
        page = page.seen(look)
        assert not re.search(r"\{\{|\bnan\b", "\n".join(islands.sentences(page, look)))
        for scene in islands.pictures(page, look).values():
            assert "<b>x" not in svg.svg(scene, 800, "light")
        assert message.message(page, look, Arrays(), tuple(section.name for section in page.sections))
        if page.tabs is not None:
            said, worked, _ = page.tabs.hand(look)
            assert worked or said is not None or page.tabs.own is not None
            page.tabs.numbers(look)
