"""Which selections of a picture the browser is sent, in which order, and when a picture is drawn again."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
import scenes
import streamlit as st
from tiny_models import language_model, tiny_config

from viz_model.app import ahead as drawn_ahead
from viz_model.app import pictures, state
from viz_model.app.ahead import Dimension
from viz_model.app.page import Page
from viz_model.drawing.scene import Panel, Scene, Text, merged
from viz_model.texts import Texts

HERE: dict[Dimension, int] = {"layer": 1, "head": 2, "token": 3}
ALL: tuple[Dimension, ...] = ("layer", "head", "token")


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A visitor's session without a browser, where drawing takes no time."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    monkeypatch.setattr(drawn_ahead, "MOST_SECONDS", math.inf)
    drawn_ahead.begin()
    yield kept


@pytest.fixture
def page(session: dict[str, Any]) -> Page:
    lm = language_model(tiny_config())
    trace = lm.trace(ids=list(range(6))).at("decoder")
    view = state.Shown(model="tiny", text="", layer=1, head=2, token=3)
    session[state._SESSION] = view
    return Page("attention", "attention", view, lm, trace, Texts("en"), 3, {})


class Drawing:
    """A picture of nothing but the selection, which counts how often it is drawn."""

    def __init__(self) -> None:
        self.drawn: list[tuple[int, int, int]] = []

    def __call__(self, page: Page) -> Scene:
        at = page.view.layer, page.view.head, page.token
        assert page.view.token == page.token
        self.drawn.append(at)
        return Scene(id="picture", panels=[Panel(id="p", marks=[Text(id="t", text=str(at))], height=9)], title="title")


def ahead(page: Page, draw: Any, by: tuple[Dimension, ...] = ALL, key: str = "picture") -> scenes.Sent:
    drawn_ahead.ask()
    drawn_ahead.begin()
    return scenes.read(pictures.of(page, draw, key, by))


def at(page: Page, **changed: Any) -> Page:
    token = changed.pop("token", page.token)
    return dataclasses.replace(page, token=token, view=dataclasses.replace(page.view, token=token, **changed))


def test_at_first_only_what_is_looked_at_is_drawn(page: Page) -> None:
    draw = Drawing()
    sent = scenes.read(pictures.of(page, draw, "picture", ALL))
    assert draw.drawn == [(1, 2, 3)] and list(sent.cases) == [(1, 2, 3)] and sent.header["by"] == list(ALL)
    assert drawn_ahead.end(), "its neighbours are wanted"


@pytest.mark.parametrize("by", [ALL, ("layer", "head"), ("head",), ("layer",), ("token",), ("layer", "token")])
def test_every_neighbour_is_what_the_page_draws_there(by: tuple[Dimension, ...], page: Page) -> None:
    draw = Drawing()
    sent = ahead(page, draw, by)
    assert not drawn_ahead.end()
    sizes: dict[Dimension, int] = {"layer": page.trace.n_layers, "head": page.lm.config.n_heads, "token": 6}
    for name in by:
        for n in range(sizes[name]):
            assert tuple({**HERE, name: n}[each] for each in by) in sent.cases
    for case, n in sent.cases.items():
        there: dict[Dimension, int] = {**HERE, **dict(zip(by, case, strict=True))}
        assert sent.mark("t", n)["text"] == str(tuple(there.values()))
    assert len(draw.drawn) == len(set(draw.drawn)) == len(sent.cases), "each once"
    assert draw.drawn[0] == (1, 2, 3)


def far(layers: int, heads: int, tokens: int) -> Any:
    """A page of a model and text of any size, as far as neighbours are concerned."""

    class Run(NamedTuple):
        n_layers: int

        def __len__(self) -> int:
            return tokens

    return SimpleNamespace(trace=Run(layers), lm=SimpleNamespace(config=SimpleNamespace(n_heads=heads)))


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(4, 6, 16), (1, 1, 1), (30, 9, 256), (96, 96, 2048)])
def test_neighbours_are_bounded_and_the_nearest_of_their_kind(layers: int, heads: int, tokens: int) -> None:
    here = layers // 2, heads // 2, tokens // 2
    found = list(drawn_ahead.neighbours(far(layers, heads, tokens), ALL, here))
    assert len(set(found)) == len(found) and here not in found
    assert len(found) <= 2 * drawn_ahead.MOST_HEADS + drawn_ahead.MOST_TOKENS
    if layers * heads <= drawn_ahead.MOST_HEADS:
        pairs = set(itertools.product(range(layers), range(heads)))
        assert {case[:2] for case in found if case[2] == here[2]} | {here[:2]} == pairs
    # In one dimension first, the nearest first, and of those as near the head before the layer before the token.
    changed = [tuple(n for n in range(3) if case[n] != here[n]) for case in found]
    alone = [(case, which[0]) for case, which in zip(found, changed, strict=True) if len(which) == 1]
    assert [case for case, _ in alone] == found[: len(alone)]
    turns = [(abs(case[which] - here[which]), (1, 0, 2).index(which)) for case, which in alone]
    assert turns == sorted(turns)
    for kind in (0, 1, 2):
        steps = [abs(case[kind] - here[kind]) for case, which in alone if which == kind]
        assert not steps or steps[0] == 1


def test_time_is_bounded(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_ahead, "MOST_SECONDS", 0.0)
    monkeypatch.setattr("viz_model.app.ahead.time.monotonic", iter(range(100)).__next__)
    draw = Drawing()
    assert list(ahead(page, draw).cases) == [(1, 2, 3)] == draw.drawn


def test_every_part_of_a_page_has_its_share_of_the_time(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last ones, too, the nearest neighbours are made, where the first alone could use up all of it."""
    now, every = 0.0, 1 + len(list(drawn_ahead.neighbours(page, ALL, (1, 2, 3))))
    monkeypatch.setattr("viz_model.app.ahead.time.thread_time", lambda: now)
    monkeypatch.setattr(drawn_ahead, "MOST_SECONDS_OF_PAGE", 24.0)

    class Slow(Drawing):
        def __init__(self, seconds: float) -> None:
            super().__init__()
            self._seconds = seconds

        def __call__(self, page: Page) -> Scene:
            nonlocal now
            now += self._seconds
            return super().__call__(page)

    parts: dict[str, tuple[Dimension, ...]] = {"first": ALL, "second": ("token",), "third": ALL, "fourth": ALL}
    for name, by in parts.items():
        pictures.of(page, Drawing(), name, by)
    assert drawn_ahead.end()
    slow = {name: Slow(3.0 if name == "first" else 0.25) for name in parts}
    drawn_ahead.ask()
    drawn_ahead.begin()
    for name, by in parts.items():
        pictures.of(page, slow[name], name, by)
    counts = {name: len(one.drawn) for name, one in slow.items()}
    assert 3 * every > 24 and 5 <= counts["first"] < every
    assert counts["second"] == 6 and counts["third"] == every and counts["fourth"] >= 4
    assert slow["fourth"].drawn[1:4] == [(1, 1, 3), (0, 2, 3), (1, 2, 2)], "the nearest of each kind"


def test_what_the_browser_has_is_not_drawn_again(page: Page) -> None:
    draw = Drawing()
    sent = pictures.of(page, draw, "picture", ALL)
    assert pictures.of(page, draw, "picture", ALL) is sent and len(draw.drawn) == 1
    ahead(page, draw)
    count = len(draw.drawn)
    drawn_ahead.begin()
    drawn_ahead.end()  # the next run is not ahead any more
    held = pictures.of(at(page, head=0), draw, "picture", ALL)
    assert len(draw.drawn) == count and (1, 0, 3) in scenes.read(held).cases
    assert drawn_ahead.end(), "of the neighbour's neighbours some are missing"
    moved = ahead(at(page, head=0), draw)
    assert moved.cases[(1, 0, 3)] == 0 and moved.cases.keys() >= {(1, 0, token) for token in range(6)}


@pytest.mark.parametrize("by", [("token",), ("layer", "head")])
def test_a_click_on_what_is_held_leads_nowhere_that_is_not(by: tuple[Dimension, ...], page: Page) -> None:
    draw = Drawing()
    ahead(page, draw, by)
    count, there = len(draw.drawn), at(page, **{name: 0 for name in by})
    drawn_ahead.begin()
    pictures.of(there, draw, "picture", by)
    assert not drawn_ahead.end() and len(draw.drawn) == count


def test_of_rounded_neighbours_the_exact_one_is_wanted(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "merged", lambda *args: merged(*args)._replace(is_exact=False))
    draw = Drawing()
    ahead(page, draw, ("token",))
    drawn_ahead.begin()
    pictures.of(at(page, token=4), draw, "picture", ("token",))
    assert drawn_ahead.end()


def test_who_rests_sees_exact_numbers_even_where_no_time_is_left(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "merged", lambda *args: merged(*args)._replace(is_exact=False))
    draw = Drawing()
    ahead(page, draw, ("token",))
    count = len(draw.drawn)
    monkeypatch.setattr(drawn_ahead, "MOST_SECONDS_OF_PAGE", -1.0)
    sent = ahead(at(page, token=4), draw, ("token",))
    assert draw.drawn[count:] == [(1, 2, 4)] and list(sent.cases) == [(4,)]
    ahead(at(page, token=4), draw, ("token",))
    assert len(draw.drawn) == count + 1, "which is drawn once"


def test_where_a_picture_has_no_place_it_is_not_asked_for_again(page: Page) -> None:
    def draw(page: Page) -> Scene | None:
        return Drawing()(page) if page.token else None

    ahead(page, draw, ("token",))
    drawn_ahead.begin()
    pictures.of(at(page, token=1), draw, "picture", ("token",))
    assert not drawn_ahead.end()


def test_a_run_that_was_ended_early_is_not_made_up_for_by_the_next(page: Page) -> None:
    drawn_ahead.ask()
    drawn_ahead.begin()
    assert drawn_ahead.is_now()
    drawn_ahead.begin()  # a click has come between: its texts do not wait for neighbours
    assert not drawn_ahead.is_now()


def test_a_selection_that_is_not_held_is_drawn(page: Page) -> None:
    draw = Drawing()
    pictures.of(page, draw, "picture", ALL)
    sent = scenes.read(pictures.of(at(page, token=0), draw, "picture", ALL))
    assert draw.drawn == [(1, 2, 3), (1, 2, 0)] and list(sent.cases) == [(1, 2, 0)]


def test_a_picture_of_no_selection_is_drawn_whenever_the_page_is(page: Page) -> None:
    draw = Drawing()
    for _ in range(2):
        assert list(ahead(page, draw, ()).cases) == [()]
    assert len(draw.drawn) == 2 and not drawn_ahead.end()


@pytest.mark.parametrize("what", ["run", "page", "side", "language", "choice"])
def test_what_else_changes_the_page_draws_its_pictures_again(what: str, page: Page, session: dict[str, Any]) -> None:
    draw = Drawing()
    pictures.of(page, draw, "picture", ALL)
    pictures.of(page, draw, "other", ALL)
    changed = {
        "run": dataclasses.replace(page, trace=dataclasses.replace(page.trace, text="another")),
        "page": dataclasses.replace(page, name="block"),
        "side": dataclasses.replace(page, trace=page.trace.whole),
        "language": dataclasses.replace(page, t=Texts("zh")),
        "choice": page,
    }[what]
    if what == "choice":
        chosen = MappingProxyType({"attention.matrix": "scores"})
        session[state._SESSION] = dataclasses.replace(page.view, choices=chosen)
    pictures.of(changed, draw, "picture", ALL)
    assert len(draw.drawn) == 3
    # Of another page or run nothing is kept.
    assert ("other" in session[pictures._KEPT]) == (what not in ("run", "page"))


def test_where_a_picture_has_no_place_it_is_left_out(page: Page) -> None:
    draw = Drawing()
    sent = ahead(page, lambda page: draw(page) if page.token >= 2 else None)
    assert {case[2] for case in sent.cases} == {2, 3, 4, 5}
