"""Back and Forward: the address that they lead to says what is shown, whatever the browser says of widgets."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs

import pytest
import streamlit
from app_driver import PAGES as ALL
from app_driver import answer, open_page, pictures
from doors import island_of, topic
from socket_visitor import Visitor, server
from streamlit.errors import StreamlitAPIException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage

from viz_model.app import examples, frame, runs, state
from viz_model.app.view import ViewState
from viz_model.island.page import reads_text
from viz_model.texts import LANGUAGES, Texts

FORMER, LATTER, SENTENCE = "The cat sat on the mat", "The dog ran home", "The cat sat on the mat because it was"
QUERY = {"model": "story-pre-ln", "lang": "en", "text": FORMER}
ASKED = {"model": "story-pre-ln", "lang": "en", "text": SENTENCE}
CHANGES = {"head": 3, "layer": 2, "token": 4}
CHANGED = [*((page, field) for page in ("attention", "ablations") for field in CHANGES), ("ablations", "")]
PLACE = {**QUERY, "lang": "zh", "token": "1", "layer": "2", "edits": "no-mask"}


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


@pytest.mark.server
@pytest.mark.parametrize(("page", "field"), CHANGED)
def test_a_part_alone_shows_what_the_whole_page_would(app: str, page: str, field: str) -> None:
    """Without a field the layer of a hybrid, which attends where the layer before holds a state."""
    model, field, value = ("story-pre-ln", field, CHANGES[field]) if field else ("story-next", "layer", 3)
    with Visitor(app, page, {**ASKED, "model": model, "layer": "1", "head": "1", "token": "2"}) as visitor:
        visitor.open()
        assert not visitor.ran
        visitor.select(**{field: value})
        assert visitor.ran and not visitor.errors
        assert parse_qs(visitor.query)[field] == [str(value)] and parse_qs(visitor.query)["text"] == [SENTENCE]
        check_fresh(visitor, app, page)


def check_fresh(visitor: Visitor, app: str, page: str) -> None:
    with Visitor(app, page, {name: values[0] for name, values in parse_qs(visitor.query).items()}) as fresh:
        fresh.open()
        assert visitor.pictures() == fresh.pictures() and words(visitor) == words(fresh)
        assert fresh.folds <= visitor.folds and not visitor.errors


def words(visitor: Visitor) -> dict[tuple[int, ...], str]:
    shown = {place: getattr(e, e.WhichOneof("type")) for place, e in visitor.elements.items() if place[0] < 2}
    return {place: element.body for place, element in shown.items() if hasattr(element, "body")}


@pytest.mark.server
@pytest.mark.parametrize("page", ["attention", "block", "next_token"])
def test_what_is_open_below_a_page_follows_sentence_and_place(app: str, page: str) -> None:
    with Visitor(app, page, ASKED) as visitor:
        visitor.open()
        for text in ("Hi", SENTENCE):  # what is opened is of the sentence that stands there by then
            visitor.type(text)
        visitor.open_door(f"{page}.apart")
        check_fresh(visitor, app, page)
        for change in (partial(visitor.type, LATTER), partial(visitor.select, layer=2, token=1)):
            change()
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
    with Visitor(app, "training_lab", {**QUERY, "text": f"{FORMER} and was", "door_ignored": "1"}) as visitor:
        visitor.open()
        for ends, text in enumerate((SENTENCE, FORMER, LATTER, SENTENCE)):
            visitor.type(text)
            slider = visitor.element("slider", "training_lab.ignored")
            assert slider.set_value and list(slider.value) == [min(4, slider.max)], ends
        visitor.choose("sidebar.lang", "中文")  # a list keeps its label in the former language, too
        box = visitor.element("selectbox", "training_lab.position")
        assert box.set_value and box.raw_value in box.options


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


def test_streamlit_keeps_what_stands_in_a_part_that_it_drops() -> None:
    """Why a page waits at its end until it is sent: where this fails, it need not any more."""
    queue = ForwardMsgQueue()
    for place, part in (((0, 3), "outer"), ((0, 3, 0), "inner")):
        message = ForwardMsg()
        message.metadata.delta_path.extend(place)
        message.delta.fragment_id = part
        message.delta.add_block.SetInParent()
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["outer"])
    assert [list(message.metadata.delta_path) for message in queue.flush()] == [[0, 3, 0]]


@pytest.mark.parametrize("page", ["attention", "cost"])
def test_a_page_ends_once_it_is_sent(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(state, "wait_until_sent", lambda: ended.append(state.current().page))
    open_page(page, ASKED)
    assert ended == [page]
    monkeypatch.undo()
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for is_shown in (False, True):  # nothing is sent to who drives the app without a browser
        monkeypatch.setattr(state, "has_browser", lambda is_shown=is_shown: is_shown)
        state.wait_until_sent()
    assert slept == [state.SENDING]


def test_a_part_that_a_page_lacks_keeps_no_other_from_running(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(state, "has_browser", lambda: True)
    monkeypatch.setattr(streamlit, "session_state", {})
    monkeypatch.setattr(streamlit, "rerun", ran.append)
    state.run_alone("door", state.ASK)
    state.has_parts((), {state.ASK})
    state.run_alone("door", state.ASK)
    assert ran == [["door", state.ASK, state.LINK], ["door", state.LINK]]


def test_parts_run_on_the_page_that_they_stand_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters typed as a visitor leaves are heard by the next page: parts of the former one would run in its place."""
    ran: list[list[str]] = []
    monkeypatch.setattr(state, "has_browser", lambda: True)
    monkeypatch.setattr(streamlit, "session_state", {})
    monkeypatch.setattr(streamlit, "rerun", ran.append)
    for page, without in (("former", ()), ("next", None), ("next", ())):
        monkeypatch.setattr(state, "_page", lambda page=page: page)
        state.run_alone(page)
        state.has_parts(without)
        state.run_alone(f"{page}, drawn")
    assert ran == [["former, drawn", state.LINK], ["next, drawn", state.LINK]]


def test_a_part_of_a_page_that_was_left_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StreamlitAPIException) as unknown:
        MemoryFragmentStorage().resolve_target(["attention.apart.part"])
    wrong = StreamlitAPIException("anything else", error_id="another")
    raised = iter((unknown.value, wrong))

    def rerun(parts: list[str]) -> None:
        raise next(raised)

    monkeypatch.setattr(state, "has_browser", lambda: True)
    monkeypatch.setattr(streamlit, "session_state", {})
    monkeypatch.setattr(streamlit, "rerun", rerun)
    state.run_alone("attention.apart.part")
    with pytest.raises(StreamlitAPIException, match="anything else"):
        state.run_alone("attention.apart.part")


@pytest.mark.server
def test_a_new_sentence_runs_parts_of_the_page_alone(app: str) -> None:
    with Visitor(app, "ablations", ASKED) as visitor:
        visitor.open()
        visitor.type("The dog ran home")
        assert visitor.ran and visitor.text == "The dog ran home"


@pytest.mark.server
@pytest.mark.parametrize(("key", "option"), [("sidebar.norm_at", "Post-LN"), ("sidebar.lang", "中文")])
def test_what_the_frame_shows_runs_the_whole_page(app: str, key: str, option: str) -> None:
    with Visitor(app, "attention", ASKED) as visitor:
        visitor.open()
        before = visitor.n_runs
        visitor.choose(key, option)
        assert visitor.n_runs == before + 1 and not visitor.ran and not visitor.errors
        assert (visitor.language == "zh") == (option == "中文")


@pytest.mark.server
def test_a_hidden_tab_is_not_drawn(app: str) -> None:
    """Without a browser there are no hidden tabs: the same page holds its code and its table then."""
    whole = open_page("attention", ASKED)
    assert whole.main.code and whole.dataframe and pictures(whole)
    with Visitor(app, "attention", ASKED) as visitor:
        visitor.open()
        kinds = [e.WhichOneof("type") for place, e in visitor.elements.items() if place[0] == 0]
        assert not {"code", "arrow_data_frame"} & set(kinds) and "bidi_component" in kinds


@pytest.mark.server
def test_the_box_says_the_example_where_that_is_typed(app: str) -> None:
    """Which is no choice: what the page was opened with would be said in its place."""
    example = examples.of(runs.model("story-pre-ln"), "en")[0]
    with Visitor(app, "attention", QUERY) as visitor:
        visitor.open()
        visitor.type(example)
        assert (visitor.text, visitor.box) == (example, example) and not visitor.errors


@pytest.mark.server
def test_a_story_says_its_chapter_where_its_text_cannot_be_read(app: str) -> None:
    """Without a chapter the address would lead to another page."""
    picture = {"model": "read-digits", "lang": "en", "to": "en", "target": "three dogs"}
    with Visitor(app, "overview", picture) as visitor:
        visitor.open()
        visitor.open("", {})
        said = parse_qs(visitor.query)
        assert (said["target"], said["chapter"]) == (["three dogs"], ["write"]) and not visitor.errors
