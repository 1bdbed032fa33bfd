"""Doors: declared with what is behind them, opened by a click, by their address, and by what is chosen behind them."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from app_driver import PAGES
from doors import island_of, topic
from socket_visitor import Visitor, server

import viz_model as vm
from viz_model.app.view import ViewState
from viz_model.island.page import reads_text
from viz_model.texts import LANGUAGES, Texts

OF_THE_FRAME = set(ViewState.__dataclass_fields__) - {"choices", "page"}
MODEL = vm.models()[0]


@pytest.mark.parametrize("page", PAGES)
def test_doors_have_names_of_their_own_and_words_in_every_language(page: str) -> None:
    found = topic(page)
    names = [choice.name for choice in found.all_choices]
    assert len(names) == len({*names}) and not OF_THE_FRAME.intersection(names)
    for own_page in island_of(page).pages:
        for section in own_page.sections:
            for language in LANGUAGES:
                known = Texts(language, pictures=own_page.fits is not reads_text).labels(own_page.topic)
                assert {f"door_{section.name}", f"door_{section.name}_line"} <= known.keys()


@pytest.mark.server
def test_a_closed_door_costs_nothing_and_an_open_one_stands_as_its_address_says() -> None:
    query = {"model": MODEL, "lang": "en", "text": "The cat sat"}
    with server("app.py") as (url, _), Visitor(url, "attention", query) as visitor:
        visitor.open()
        closed = visitor.pictures()
        visitor.open_door("attention.door_what_if")
        assert visitor.ran and not visitor.errors
        shown, address = visitor.pictures(), {name: values[0] for name, values in parse_qs(visitor.query).items()}
        assert address == {**query, "door_what_if": "1"} and len(shown) > len(closed)
        visitor.open_door("attention.door_what_if", False)
        assert "door_what_if" not in visitor.query
        with Visitor(url, "attention", address) as fresh:
            fresh.open()
            assert fresh.pictures() == shown
