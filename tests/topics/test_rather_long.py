"""A run too long for tables of all layers: what is little of each layer is there of all of them all the same."""

import pkgutil
from dataclasses import replace
from importlib import import_module

import pytest
from islands import look, made

import viz_model as vm
from viz_model import topics
from viz_model.drawing.scene import Arrays, Scene, encode, seen
from viz_model.drawing.tables import Absent
from viz_model.island.look import Look
from viz_model.island.message import message
from viz_model.island.page import Page, Section
from viz_model.topics import attention, block, norm_placement, overview, position

TEXT = "Once upon a time there was a little dog who liked to run"


@pytest.mark.parametrize("page", [one.PAGE for one in (attention, block, norm_placement, overview, position)])
def test_another_layer_is_drawn_as_on_its_own_page(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_model.island.held.MOST_CELLS", 100)
    monkeypatch.setattr(block.vectors, "MOST_TOGETHER", 1_000)
    monkeypatch.setattr(overview.whole, "MOST_BLOCKS", 3)
    trace = vm.load("story-modern").trace(TEXT)
    page = replace(page, items=[item for item in page.items if not isinstance(item, Section)])

    def pictures(at: Look) -> dict[str, Scene]:
        return {one.id: one for one in made(page, at) if isinstance(one, Scene)}

    here, there = look(trace, page, layer=0, token=4), look(trace, page, layer=2, token=4)
    of_there = pictures(there)
    assert here.layers == range(1) and of_there
    asked_again = look(trace, page, layer=0).of_layer(2).of_layer(0)
    much = {"attention.projected"} & set(of_there)  # queries, keys and values of all layers, until another is asked for
    for asked, expected in ((here, much), (asked_again, set())):
        late, places = set(), [{**there.place, "head": head} for head in (0, 2)]
        for name, picture in pictures(replace(asked, token=4)).items():
            try:
                assert all(encode(seen(picture, at)) == encode(seen(of_there[name], at)) for at in places), name
            except Absent:
                late.add(name)
        assert late == expected


@pytest.mark.parametrize("name", [one.name for one in pkgutil.iter_modules(topics.__path__)])
def test_a_page_that_asks_for_no_other_layer_is_the_same_at_each(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_model.island.held.MOST_CELLS", 100)
    lm = vm.load("story-modern")
    if (page := import_module(f"{topics.__name__}.{name}").TOPIC.page(lm.config)) is None:
        return
    here = replace(look(lm.trace(TEXT), page, token=4), lm=lm)
    for opened in ((), *((section.name,) for section in page.sections)):
        sent = [message(page, here.of_layer(layer), Arrays(), opened, options={}) for layer in (0, 2)]
        assert (b'"layers":[0,1]' in sent[0]) == (sent[0] != sent[1]), opened


def test_what_was_read_of_all_layers_is_of_its_run_and_shared_by_its_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_model.island.held.MOST_CELLS", 100)
    lm = vm.load("story-modern")
    here = look(lm.trace(TEXT), attention.PAGE)
    first, second = here.of_layer(0), here.of_layer(2)
    assert first.wide.every("attn.pattern") is second.wide.every("attn.pattern")
    other = replace(second, trace=lm.trace(TEXT.replace("dog", "cat")), _read={})
    assert (other.wide.every("attn.pattern")[2] == other.trace["blocks.2.attn.pattern"].numpy()).all()
