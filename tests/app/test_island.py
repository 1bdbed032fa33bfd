"""Who says where to look: the browser, unless the address or the server has led it elsewhere meanwhile."""

import types
from typing import Any

import pytest
import streamlit
from app_driver import ISLAND, address, answer, mounts, open_page, tell
from streamlit.testing.v1 import AppTest

from viz_model.app import state
from viz_model.app.view import ViewState
from viz_model.island import message
from viz_model.texts import Texts

QUERY = {"model": "story-pre-ln", "lang": "en", "text": "The cat sat on the mat", "layer": "1", "head": "1"}
OTHER = "The dog ran home"


def sent(app: AppTest) -> dict[str, Any]:
    return mounts(app)[ISLAND]


def test_what_was_said_before_the_browser_was_led_is_not_taken() -> None:
    app = open_page("attention", QUERY)
    former = sent(app)["nav"]
    app = tell(app, "view", "picked", {"text": OTHER})
    latter = sent(app)
    assert latter["nav"] > former
    app = answer(app, nav=former, text="Hi", place={"layer": 2, "head": 3})
    now = sent(app)
    # It is answered all the same: the browser asks nothing more before.
    assert now == {**latter, "seq": latter["seq"] + 1}
    assert (address(app)["text"], address(app)["head"]) == (OTHER, "1")
    app = answer(app, place={"layer": 2, "head": 3})
    assert (address(app)["layer"], address(app)["head"], sent(app)["nav"]) == ("2", "3", now["nav"])


@pytest.mark.parametrize("change", ["model", "lang"])
def test_what_is_typed_while_another_model_or_language_comes_is_kept(change: str) -> None:
    app = open_page("attention", QUERY)
    before = sent(app)
    if change == "model":
        app.selectbox(key="sidebar.model").set_value("story-post-ln").run()
    else:
        app.button_group(key="sidebar.lang").set_value("zh").run()
    assert sent(app) != before and sent(app)["nav"] == before["nav"]
    app = answer(app, text=OTHER, place={"layer": 2, "head": 3})
    assert (address(app)["text"], address(app)["head"]) == (OTHER, "3")


def test_back_leads_even_to_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may show what it has not said yet."""
    app = open_page("attention", QUERY)
    before = sent(app)
    app.run()
    assert sent(app) == before
    monkeypatch.setattr(state, "goes_through_history", lambda: True)
    app = answer(app, place={"layer": 2, "head": 3})
    assert sent(app)["nav"] > before["nav"] and sent(app)["chosen"] == before["chosen"]


def test_who_has_come_to_rest_is_sent_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    app = answer(open_page("attention", QUERY), text=OTHER, rests=0)
    before, write = sent(app), message.message
    written: list[bytes] = []

    def counted(*given: Any, **named: Any) -> bytes:
        written.append(write(*given, **named))
        return written[-1]

    monkeypatch.setattr(message, "message", counted)
    app = answer(app, seq=before["seq"], text=OTHER, rests=1)
    assert sent(app) == before and not written
    answer(app, seq=before["seq"], text=OTHER, place={"layer": 2, "head": 3}, rests=2)
    assert written


def test_a_section_below_stays_open_in_another_language() -> None:
    app = open_page("attention", {**QUERY, "apart": "1"})
    for lang in ("zh", "en"):
        app.button_group(key="sidebar.lang").set_value(lang).run()
        assert [one.proto.expanded for one in app.expander if Texts(lang)("common.apart") in one.label] == [True]


def test_an_address_is_written_over_until_the_browser_has_heard_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who toggles there and back quickly still has the first address when the second one is written."""
    pre, post = (ViewState(model=f"story-{norm}-ln") for norm in ("pre", "post"))
    written: list[dict[str, str]] = []
    monkeypatch.setattr(streamlit, "query_params", types.SimpleNamespace(to_dict=pre.query, from_dict=written.append))
    monkeypatch.setattr(streamlit, "session_state", {})
    for view in (pre, post, pre, pre):
        state.write(view)
    assert written == [post.query(), pre.query()]
    monkeypatch.setattr(state, "goes_through_history", lambda: True)
    state.write(pre)
    assert written[2:] == [pre.query()]


def test_another_model_is_not_asked_for_the_language_of_a_former_one() -> None:
    app = open_page("attribution", {"model": "read-digits", "lang": "en", "to": "en"})
    app.selectbox(key="sidebar.model").set_value("translate-t5").run()
    assert not app.exception and address(app)["to"] == "fr"
    app = answer(app, options={"to": "en"})  # said before the page had come
    assert not app.exception and address(app)["to"] == "fr"
