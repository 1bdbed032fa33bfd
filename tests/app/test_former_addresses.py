"""Links to an address that a page had before open the page, on what they ask for, also on a fresh server."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from app_driver import open_page
from socket_visitor import Visitor, server
from tiers import some

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


@pytest.mark.parametrize("former", some(list(FORMER), 2))
def test_a_former_address_shows_the_page(former: str) -> None:
    there, now = (open_page(page, QUERY) for page in (former, FORMER[former]))
    assert [part.value for part in there.markdown] == [part.value for part in now.markdown]
    assert there.query_params == now.query_params
    assert {name: there.query_params[name] for name in QUERY} == QUERY


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
def test_the_first_page_is_found_by_its_name_too() -> None:
    with server("app.py") as (url, _), Visitor(url, FIRST, {"lang": "zh", "text": "The cat"}) as visitor:
        visitor.open()
        assert not visitor.errors and visitor.pictures()
        query = parse_qs(visitor.query)
        assert query["text"] == ["The cat"] and query["chapter"] == ["write"]


@pytest.mark.server
def test_the_address_of_the_first_page_opens_it_again() -> None:
    """Other addresses without a page's name were of the overview once, and lead there."""
    with server("app.py") as (url, _):
        with Visitor(url, "", {"lang": "en"}) as visitor:
            visitor.open()
            query = {name: values[0] for name, values in parse_qs(visitor.query).items()}
        with Visitor(url, "", {**query, "text": "The cat"}) as again:
            again.open()
            assert parse_qs(again.query)["chapter"] == ["write"] and "heading" in str(again.pictures())
