"""What the search offers is there: each page and section it names opens, and heads do what it says."""

from __future__ import annotations

import pytest
from doors import island_of

import viz_model as vm
from viz_model.app import declared, runs, search
from viz_model.app.frame import SECTIONS
from viz_model.measures import heads
from viz_model.texts import LANGUAGES, Texts

MODELS = ("story-pre-ln", "story-bert", "translate-2017", "digits-vit")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("model", MODELS)
def test_every_section_that_is_offered_opens(model: str, language: str) -> None:
    config = runs.offered()[model]
    found = search.entries(Texts.of(language, config), config, None)
    assert {one.to["page"] for one in found if one.to} >= {page for pages in SECTIONS.values() for page in pages}
    for one in found:
        assert one.label and one.kind
        if section := one.to.get("section"):
            choices = declared.declared(island_of(one.to["page"])).all_choices
            assert f"door_{section}" in {choice.name for choice in choices}
            assert one.says
    assert len({(one.label, one.kind, *one.to.items()) for one in found}) == len(found)


def test_heads_are_found_by_what_they_do() -> None:
    trace = vm.load("story-pre-ln").trace("The cat sat on the mat")
    found = [one for one in search.entries(Texts("en"), trace.config, trace) if one.kind == "attention head"]
    assert len(found) == trace.n_layers * trace.config.n_heads
    previous = next(one for one in found if one.label.endswith("previous token"))
    summary = heads.kinds(trace)[previous.to["layer"]][previous.to["head"]]
    assert summary.previous > 0.5
