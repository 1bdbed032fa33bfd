"""Links to an address that a page had before open the page, on what they ask for, also on a fresh server."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from socket_visitor import Visitor, server

from viz_model.app.frame import FIRST, FORMER

QUERY = {"model": "story-pre-ln", "lang": "zh", "text": "The cat sat", "token": "1", "layer": "2", "edits": "no-mask"}


@pytest.mark.server
def test_former_addresses_on_a_fresh_server() -> None:
    """Addresses without a page's name were of the overview once, and lead there."""
    with server("app.py") as (url, _):
        for former, page in FORMER.items():
            with Visitor(url, former, QUERY) as there, Visitor(url, page, QUERY) as now:
                there.open()
                now.open()
                assert not there.errors and there.pictures() == now.pictures()
                assert parse_qs(there.query) == {name: [value] for name, value in QUERY.items()}
        for page, query in ((FIRST, {"text": "The cat"}), ("", {"text": "The cat", "chapter": "write"})):
            with Visitor(url, page, query) as visitor:
                visitor.open()
                assert not visitor.errors and "heading" in str(visitor.pictures())
                assert parse_qs(visitor.query)["chapter"] == ["write"] and visitor.text == "The cat"
