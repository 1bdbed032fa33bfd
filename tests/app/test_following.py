"""What is said of each selection, as the browser holds it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import scenes
import streamlit as st
from tiny_models import language_model, tiny_config

from viz_model.app import ahead, components, following, state
from viz_model.app.ahead import Dimension
from viz_model.app.page import Page
from viz_model.texts import Texts

ALL: tuple[Dimension, ...] = ("layer", "head", "token")


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A visitor's session without a browser."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    for most in ("MOST_SECONDS", "MOST_SECONDS_OF_PAGE"):
        monkeypatch.setattr(ahead, most, 600.0)
    ahead.begin()
    yield kept


@pytest.fixture
def page(session: dict[str, Any]) -> Page:
    lm = language_model(tiny_config())
    view = state.Shown(model="tiny", text="", layer=1, head=2, token=3)
    session[state._SESSION] = view
    return Page("attention", "attention", view, lm, lm.trace(ids=list(range(6))).at("decoder"), Texts("en"), 3, {})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The headers that the browser is sent."""
    headers: list[dict[str, Any]] = []
    monkeypatch.setattr(components, "prose", lambda data, key: headers.append(scenes.read(data).header))
    return headers


class Saying:
    """Names the selection, and counts how often it is asked."""

    def __init__(self, length: int = 1) -> None:
        self.asked: list[tuple[int, int, int]] = []
        self._length = length

    def __call__(self, page: Page) -> following.Said:
        at = page.view.layer, page.view.head, page.token
        self.asked.append(at)
        return [["text", [["p", str(at) * self._length]]]]


def at(page: Page, token: int) -> Page:
    return dataclasses.replace(page, token=token, view=dataclasses.replace(page.view, token=token))


def keep(page: Page, say: Any, by: tuple[Dimension, ...] = ALL, *, rests: bool = False) -> None:
    if rests:
        ahead.ask()
    ahead.begin()
    following.keep(page, "place", by, say(page), say)


def cases(header: dict[str, Any]) -> dict[str, list[Any]]:
    place = header["places"]["place"]
    return {case: [header["said"][n] for n in which] for case, which in place["cases"].items()}


def test_at_first_only_what_is_said_now(page: Page, sent: list[dict[str, Any]]) -> None:
    say = Saying()
    keep(page, say)
    following.send(page)
    assert cases(sent[0]) == {"1,2,3": [["text", [["p", "(1, 2, 3)"]]]]} and ahead.end(), "neighbours are wanted"


def test_at_rest_what_each_click_leads_to(page: Page, sent: list[dict[str, Any]]) -> None:
    say = Saying()
    keep(page, say, rests=True)
    following.send(page)
    held = cases(sent[0])
    assert held["1,2,0"] == [["text", [["p", "(1, 2, 0)"]]]] and held["0,1,3"] == [["text", [["p", "(0, 1, 3)"]]]]
    assert "0,1,0" not in held and not ahead.end()
    count = len(say.asked)
    keep(at(page, 0), say)
    assert ahead.end(), "of the other token the other heads are lacking"
    keep(at(page, 0), say, rests=True)
    again = [case for case in say.asked[count:] if case[2] == 3 or case[:2] == (1, 2)]
    assert again == [(1, 2, 0), (1, 2, 0)], "only what is said now is asked for again"


def test_a_page_whose_time_is_over_keeps_what_it_has(
    page: Page, sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    say = Saying()
    keep(page, say, rests=True)
    following.send(page)
    monkeypatch.setattr(ahead, "MOST_SECONDS_OF_PAGE", 0.0)
    keep(at(page, 0), say, rests=True)
    following.send(page)
    assert say.asked[-1] == (1, 2, 0) and cases(sent[1]) == cases(sent[0]), "nothing is added, nothing lost"
    assert not ahead.end(), "and no other run is asked to go on"


def test_equal_words_are_sent_once(page: Page, sent: list[dict[str, Any]]) -> None:
    keep(page, lambda page: [["text", [["p", "the same"]]]], rests=True)
    following.send(page)
    assert sent[0]["said"] == [["text", [["p", "the same"]]]] and len(cases(sent[0])) > 10


def test_what_only_streamlit_writes_is_not_sent(page: Page, sent: list[dict[str, Any]]) -> None:
    keep(page, lambda page: None if page.token == 1 else [], ("token",), rests=True)
    following.send(page)
    assert set(cases(sent[0])) == {"0", "2", "3", "4", "5"}


def test_of_too_much_the_farthest_is_left_out(page: Page, sent: list[dict[str, Any]]) -> None:
    keep(page, Saying(following.MOST_BYTES // 40), ("token",), rests=True)
    following.send(page)
    held = cases(sent[0])
    assert 0 < len(held) < 6 and "3" in held


def test_another_run_has_other_words(page: Page, sent: list[dict[str, Any]]) -> None:
    say = Saying()
    keep(page, say, rests=True)
    other = dataclasses.replace(page, view=dataclasses.replace(page.view, model="other"))
    keep(other, say)
    following.send(other)
    assert set(cases(sent[0])) == {"1,2,3"}


def test_what_is_held_is_not_sent_in_another_order(page: Page, sent: list[dict[str, Any]]) -> None:
    say = Saying()
    keep(page, say, ("token",), rests=True)
    following.send(page)
    keep(at(page, 0), say, ("token",))
    following.send(at(page, 0))
    assert sent[0] == sent[1] and list(cases(sent[0])) == list(cases(sent[1]))


def test_what_is_too_much_by_itself_is_sent(page: Page, sent: list[dict[str, Any]]) -> None:
    keep(page, Saying(following.MOST_BYTES))
    following.send(page)
    assert set(cases(sent[0])) == {"1,2,3"}
