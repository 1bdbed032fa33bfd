"""Links to an address that a page had before open the page, on what they ask for, also on a fresh server."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from socket_visitor import Visitor, server

from viz_model.app.frame import FIRST, FORMER, SECTIONS

QUERY = {
    "model": "story-pre-ln",
    "lang": "zh",
    "text": "The cat sat",
    "token": "1",
    "layer": "2",
    "head": "3",
    "edits": "head-off.1.3~skip.0.ffn",
}


def test_they_are_addresses_of_no_other_page() -> None:
    names = {name for pages in SECTIONS.values() for name in pages}
    assert set(FORMER.values()) <= names and not FORMER.keys() & names


@pytest.mark.server
def test_a_former_address_on_a_fresh_server() -> None:
    with server("app.py") as (url, _):
        for former, page in FORMER.items():
            with Visitor(url, former, QUERY) as there, Visitor(url, page, QUERY) as now:
                there.open()
                now.open()
                assert not there.errors and there.pictures() == now.pictures()
                assert parse_qs(there.query) == {name: [value] for name, value in QUERY.items()}


@pytest.mark.server
def test_the_first_page_is_found_by_its_name_and_its_address_opens_it_again() -> None:
    """Other addresses without a page's name were of the overview once, and lead there."""
    with server("app.py") as (url, _):
        with Visitor(url, FIRST, {"lang": "zh", "text": "The cat"}) as visitor:
            visitor.open()
            assert not visitor.errors and visitor.pictures()
            query = {name: values[0] for name, values in parse_qs(visitor.query).items()}
            assert (query["text"], query["chapter"]) == ("The cat", "write")
        with Visitor(url, "", query) as again:
            again.open()
            assert parse_qs(again.query)["chapter"] == ["write"] and "heading" in str(again.pictures())
