"""Back and Forward: the address that they lead to says what is shown, whatever the browser says of widgets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs

import pytest
from app_driver import PAGES as ALL
from app_driver import answer, open_page
from doors import island_of, topic
from socket_visitor import Visitor, server

from viz_model.app import frame, runs, state
from viz_model.app.view import ViewState
from viz_model.island.page import reads_text
from viz_model.texts import LANGUAGES, Texts

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


SENTENCE = "The cat sat on the mat because it was"
ASKED = {"model": "story-pre-ln", "lang": "en", "text": SENTENCE}
PAGES = ("attention", "ablations")


CHANGES = {"head": 3, "layer": 2, "token": 4}


@pytest.mark.server
@pytest.mark.parametrize(("page", "field"), [(page, field) for page in PAGES for field in CHANGES])
def test_a_part_alone_shows_what_the_whole_page_would(app: str, page: str, field: str) -> None:
    value = CHANGES[field]
    with Visitor(app, page, {**ASKED, "layer": "1", "head": "1", "token": "2"}) as visitor:
        visitor.open()
        assert not visitor.ran
        visitor.select(**{field: value})
        assert visitor.ran and not visitor.errors
        assert parse_qs(visitor.query)[field] == [str(value)]
        assert parse_qs(visitor.query)["text"] == [SENTENCE]
        check_fresh(visitor, app, page)


def check_fresh(visitor: Visitor, app: str, page: str) -> None:
    """Who opens the address of a visitor sees what the visitor sees."""
    with Visitor(app, page, {name: values[0] for name, values in parse_qs(visitor.query).items()}) as fresh:
        fresh.open()
        assert visitor.pictures() == fresh.pictures() and words(visitor) == words(fresh)


def words(visitor: Visitor) -> dict[tuple[int, ...], str]:
    """What is written on the page and beside it, by place."""
    shown = {place: getattr(e, e.WhichOneof("type")) for place, e in visitor.elements.items() if place[0] < 2}
    return {place: element.body for place, element in shown.items() if hasattr(element, "body")}


@pytest.mark.server
@pytest.mark.parametrize("page", ["attention", "block", "next_token"])
def test_what_is_open_below_a_page_follows_sentence_and_place(app: str, page: str) -> None:
    with Visitor(app, page, ASKED) as visitor:
        visitor.open()
        visitor.open_door(f"{page}.apart")
        closed = len(visitor.elements)
        for change in (partial(visitor.type, LATTER), partial(visitor.select, layer=2, token=1)):
            change()
            assert len(visitor.elements) >= closed and not visitor.errors
            check_fresh(visitor, app, page)


def test_neither_layer_nor_head_nor_token_runs_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("attention", ASKED)
    ran: list[object] = []
    monkeypatch.setattr(runs, "run", lambda *asked: ran.append(asked))
    for key in ("layer", "head", "token"):
        answer(app, place={key: 1})
        assert app.query_params[key] == "1"
    app.query_params["token"] = "3"
    app.run()
    assert not app.exception and not ran


def test_a_sentence_may_arrive_after_another_model_was_chosen() -> None:
    app = open_page("attention", {**QUERY, "model": "translate-2017", "to": "zh"})
    app.session_state["view"] = replace(app.session_state["view"], model="story-pre-ln")
    assert answer(app, text=LATTER).query_params["model"] == "story-pre-ln"


def test_the_address_forgets_a_token_that_another_model_lacks_also_while_somebody_types() -> None:
    app = open_page("position", {**QUERY, "text": f"{FORMER} and {LATTER}", "token": "9"})
    answer(app, text=f"{FORMER} and {LATTER} again", rests=0)
    app.selectbox(key="sidebar.model").set_value("read-digits").run()
    assert app.query_params["model"] == "read-digits" and "token" not in app.query_params


@pytest.mark.server
def test_a_slider_with_other_ends_stands_where_it_stood(app: str) -> None:
    """The browser takes it for another slider, and begins where that begins unless it is told."""
    with Visitor(
        app, "training_lab", {**QUERY, "text": "The cat sat on the mat and was", "door_ignored": "1"}
    ) as visitor:
        visitor.open()
        for ends, text in enumerate((SENTENCE, FORMER, LATTER, SENTENCE)):
            visitor.type(text)
            slider = visitor.element("slider", "training_lab.ignored")
            assert slider.set_value and list(slider.value) == [min(4, slider.max)], ends


PLACE = {**QUERY, "lang": "zh", "token": "1", "layer": "2", "edits": "no-mask"}


@pytest.mark.server
def test_former_addresses_on_a_fresh_server() -> None:
    """Addresses without a page's name were of the overview once, and lead there."""
    with server("app.py") as (url, _):
        for former, page in frame.FORMER.items():
            with Visitor(url, former, PLACE) as there, Visitor(url, page, PLACE) as now:
                there.open()
                now.open()
                assert not there.errors and there.pictures() == now.pictures()
                assert parse_qs(there.query) == {name: [value] for name, value in PLACE.items()}
        for page, query in ((frame.FIRST, {"text": "The cat"}), ("", {"text": "The cat", "chapter": "write"})):
            with Visitor(url, page, query) as visitor:
                visitor.open()
                assert not visitor.errors and "heading" in str(visitor.pictures())
                assert parse_qs(visitor.query)["chapter"] == ["write"] and visitor.text == "The cat"


@pytest.mark.parametrize("page", ALL)
def test_doors_have_names_of_their_own_and_words_in_every_language(page: str) -> None:
    found, of_the_frame = topic(page), set(ViewState.__dataclass_fields__) - {"choices", "page"}
    names = [choice.name for choice in found.all_choices]
    assert len(names) == len({*names}) and not of_the_frame.intersection(names)
    for own_page in island_of(page).pages:
        for section in own_page.sections:
            for language in LANGUAGES:
                known = Texts(language, pictures=own_page.fits is not reads_text).labels(own_page.topic)
                assert {f"door_{section.name}", f"door_{section.name}_line"} <= known.keys()


@pytest.mark.server
def test_a_closed_door_costs_nothing_and_an_open_one_stands_as_its_address_says(app: str) -> None:
    query = {"model": "story-pre-ln", "lang": "en", "text": "The cat sat"}
    with Visitor(app, "attention", query) as visitor:
        visitor.open()
        closed = visitor.pictures()
        visitor.open_door("attention.door_what_if")
        assert visitor.ran and not visitor.errors
        shown, address = visitor.pictures(), {name: values[0] for name, values in parse_qs(visitor.query).items()}
        assert address == {**query, "door_what_if": "1"} and len(shown) > len(closed)
        visitor.open_door("attention.door_what_if", False)
        assert "door_what_if" not in visitor.query
        with Visitor(app, "attention", address) as fresh:
            fresh.open()
            assert fresh.pictures() == shown
