"""Every page, with all that opens on it, tells of a run of every kind of model: nothing in its texts is left open."""

import importlib
import pkgutil
import re
from dataclasses import replace

import fresh_variants
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
CONFIGS = {describe(one): replace(one, n_vocab=8192, n_context=32) for one in few()}
TEXTS = {"hostile": "<b>x</b> $y$ `z` | \\ \u202e 👩‍👩‍👧", "short": "a"}
RUNS = [*BUNDLED, *CONFIGS, *TEXTS]


def run_of(name: str) -> vm.Trace:
    if name in CONFIGS:
        return run_both(language_model(CONFIGS[name]))
    return vm.load("story-post-ln").trace(TEXTS[name]) if name in TEXTS else example(vm.load(name))


CASES = [
    pytest.param(name, run, marks=() if run in ("translate-t5", "digits-vit", "story-none") else pytest.mark.full)
    for name in NAMES
    for run in RUNS
]


@pytest.mark.parametrize(("name", "run"), CASES)
def test_a_page_is_whole(name: str, run: str) -> None:
    check_page(name, run_of(run), RUNS.index(run))


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_of_parts_that_the_package_does_not_have(name: str) -> None:
    with fresh_variants.installed():
        for n, config in enumerate(fresh_variants.layered_configs()):
            check_page(name, run_both(language_model(replace(config, n_vocab=8192, n_context=32))), n)


def check_page(name: str, whole: vm.Trace, turn: int) -> None:
    topic = importlib.import_module(f"viz_model.topics.{name}").TOPIC
    sides = whole.config.sides[::-1]
    for n, side in enumerate(sides, NAMES.index(name) + turn):
        lang = list(LANGUAGES)[n % len(LANGUAGES)]
        trace = whole.at(sides[0] if topic.part == "cross" else side)
        page = topic.page(trace.config)
        if page is None or name == "training_lab":  # which is no island
            continue
        look = islands.look(trace, page, lang, layer=trace.n_layers - 1, token=-1)
        page = page.seen(look)
        assert not re.search(r"\{\{\w+\}\}|\bnan\b", "\n".join(islands.sentences(page, look)))
        for scene in islands.pictures(page, look).values():
            assert "<b>x" not in svg.svg(scene, 800, "light")
        assert message.message(page, look, Arrays(), tuple(section.name for section in page.sections))
        if page.tabs is not None:
            said, worked, _ = page.tabs.hand(look)
            assert worked or said is not None or page.tabs.own is not None
            page.tabs.numbers(look)
