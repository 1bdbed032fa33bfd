"""The page of a head or a neuron: the visitor's own sentence first, then the sample, and the way to it."""

import islands
import pytest
from app_driver import address, answer, heading, open_page, said, tell
from tiny_models import language_model, run_both, tiny_config

import viz_model as vm
from viz_model import explain
from viz_model.island.look import Look
from viz_model.island.page import Buttons
from viz_model.texts import LANGUAGES
from viz_model.topics.units import PAGE, asked, over_texts

TEXT = "Tom had a cat and a dog. The cat and the"
MODELS = ("story-pre-ln", "story-post-ln", "story-modern", "story-moe")
OF_HEADS = ["units.here", "units.contexts", "units.histogram", "units.roles", "units.writes", "units.removed"]


def look(model: str = "story-pre-ln", neuron: str = "", text: str = TEXT, lang: str = "en", **place: int) -> Look:
    place = {"layer": 1, "head": 2, **place}
    return islands.look(vm.load(model).trace(text), PAGE, lang, {"neuron": neuron}, **place)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("model", MODELS)
def test_a_head_and_a_neuron_have_their_pictures_and_sentences(model: str, lang: str) -> None:
    sample = explain.unit(vm.load(model).trace(TEXT), 1, head=0).sample
    assert sample is not None
    for text in (TEXT, "小猫坐在垫子上", "a"):
        for neuron in ("", str(int(sample["1.fires"].argmax()))):
            here = look(model, neuron, text, lang)
            drawn = list(islands.pictures(PAGE, here))
            expected = [name for name in OF_HEADS if not neuron or name != "units.roles"]
            assert drawn == [name for name in expected if text != "a" or name != "units.removed"]
            said = " ".join(islands.sentences(PAGE, here))
            assert "{{" not in said and "1,765" in said and "sample_units" not in said


def test_a_neuron_that_is_never_above_0_has_no_contexts() -> None:
    here = look("story-post-ln", "17")
    assert float(here.once(asked.asked).found("high")) == 0
    assert not {"units.contexts", "units.histogram"} & set(islands.pictures(PAGE, here))
    said = " ".join(islands.sentences(PAGE, here))
    assert "is above 0 on none of the sampled tokens" in said and "In none of 1,765 texts" in said


@pytest.mark.parametrize("neuron", ["", "3"])
@pytest.mark.parametrize("place", ["pre", "post"])
def test_without_a_sample_it_is_the_own_sentence_and_how_to_make_one(place: str, neuron: str) -> None:
    here = islands.look(run_both(language_model(tiny_config(place))), PAGE, options={"neuron": neuron}, layer=1)  # type: ignore[arg-type]
    assert set(islands.pictures(PAGE, here)) == {"units.here", "units.writes", "units.removed"}
    said = " ".join(islands.sentences(PAGE, here))
    assert "vm.explain.sample_units(lm, texts)" in said and "writes nothing at all" in said


def test_a_click_goes_to_a_head_that_is_like_it_and_to_a_neuron() -> None:
    here = look(layer=2, head=1)
    found = over_texts.alike(here)
    assert isinstance(found, Buttons) and len(found.buttons) == 5
    nearest = explain.unit(here.trace, 2, head=1).alike(1)[0]
    assert found.buttons[0].change == {"model": nearest.model, "layer": nearest.layer, "head": nearest.head}
    offered = asked.choose(here)
    assert isinstance(offered, Buttons)
    act = here.trace["blocks.2.ffn.act"][here.token]
    assert offered.buttons[1].options == {"neuron": str(int(act.abs().argmax()))}


QUERY = {"model": "story-pre-ln", "lang": "en", "text": TEXT, "layer": "2", "head": "1"}


def test_a_button_leads_to_the_page_of_a_head_or_a_neuron() -> None:
    app = open_page("attention", QUERY)
    app = tell(app, "view", "picked", {"page": "units", "layer": 2, "head": 1, "neuron": ""})
    assert heading(app) == "Heads and neurons" and "Layer 2, head 1" in said(app)
    assert "neuron" not in address(app)
    app = open_page("block", QUERY)
    app = tell(app, "view", "picked", {"page": "units", "layer": 1, "neuron": "17"})
    assert "Layer 1, neuron 17" in said(app)
    assert (address(app)["layer"], address(app)["neuron"]) == ("1", "17")
    app = open_page("units", {**QUERY, "neuron": "17"})  # the neuron of a former visit is not asked about again
    app = tell(app, "view", "picked", {"page": "units", "layer": 3, "head": 0, "neuron": ""})
    assert "Layer 3, head 0" in said(app) and "neuron" not in address(app)


def test_an_address_opens_a_neuron_and_a_number_that_there_is_not_is_said_so() -> None:
    app = open_page("units", {**QUERY, "neuron": "17"})
    assert "Layer 2, neuron 17" in said(app)
    app = answer(app, options={"neuron": "5"})
    assert "Layer 2, neuron 5" in said(app) and address(app)["neuron"] == "5"
    app = answer(app, options={"neuron": "9999"})
    assert "has no neuron" in said(app) and "Layer 2, head 1" in said(app)
