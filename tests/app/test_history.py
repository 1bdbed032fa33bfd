"""Back and Forward: the address that they lead to says what is shown, whatever the browser says of widgets."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from socket_visitor import Visitor, server

from viz_model.app import state

FORMER, LATTER = "The cat sat on the mat", "The dog ran home"
QUERY = {"model": "story-pre-ln", "lang": "en", "text": FORMER}


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with server("app.py") as (url, _):
        yield url


@pytest.mark.server
@pytest.mark.parametrize("page", ["attention", "ablations"])
def test_forward_after_back_shows_the_latter_whatever_the_box_says(app: str, page: str) -> None:
    """The box says the latter where the answer to Back has not come yet, and the former where it has."""
    with Visitor(app, page, QUERY) as visitor:
        visitor.open()
        former = visitor.query
        visitor.type(LATTER)
        latter = visitor.query
        for said in (LATTER, FORMER):
            visitor.go(former, text=LATTER)
            assert (visitor.text, visitor.box, visitor.query) == (FORMER, FORMER, former)
            visitor.go(latter, text=said)
            assert (visitor.text, visitor.box, visitor.query) == (LATTER, LATTER, latter)
        assert not visitor.errors
        # What a visitor then types counts again, as soon as the box may have shown what was written in it.
        time.sleep(state.HEARD)
        visitor.type(FORMER)
        assert visitor.text == FORMER
