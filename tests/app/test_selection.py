"""The browser selects, the server follows: it says nothing back, and tells only what changed elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from app_driver import mounts, open_page, pictures, tell
from streamlit.testing.v1 import AppTest

from viz_model.app import ahead

pytestmark = pytest.mark.full

TEXT = "The cat sat on the mat"
QUERY = {"model": "story-pre-ln", "text": TEXT, "lang": "en", "layer": "1", "head": "2", "token": "3"}
KEY, RESTS = "frame_selection", "frame_rest"


@pytest.fixture
def app() -> AppTest:
    return open_page("ablations", QUERY)


def bridge(app: AppTest) -> dict[str, Any]:
    return mounts(app)[KEY]


def shown(app: AppTest) -> tuple[int, int, int]:
    """Layer, head and token of the address, which leaves out what is usual."""
    asked = {**bridge(app)["initial"], **app.query_params}
    layer, head, token = (int(asked[name]) for name in ("layer", "head", "token"))
    return layer, head, token


def test_what_the_browser_selects_is_followed_and_not_said_back(app: AppTest) -> None:
    before = bridge(app)
    assert (before["layer"], before["head"], before["token"], before["seq"]) == (1, 2, 3, 0)
    tell(app, KEY, "selected", {"layer": 2, "head": 0, "token": 1, "seq": 7})
    after = bridge(app)
    assert shown(app) == (2, 0, 1) and after["seq"] == 7
    assert {**after, "seq": 0} == before, "an echo would undo a second click that is already on its way"


def test_what_is_not_selected_stays(app: AppTest) -> None:
    tell(app, KEY, "selected", {"head": 1, "seq": 1})
    assert shown(app) == (1, 1, 3)


def test_what_changes_elsewhere_is_told_once_under_a_new_name(app: AppTest) -> None:
    first = bridge(app)["nav"]
    app.query_params["head"] = "3"
    app.run()
    told = bridge(app)
    assert shown(app) == (1, 3, 3) and told["nav"] != first
    assert told["head"] == 3 and not {"layer", "token"} & told.keys(), "only what changed, or a click is undone"
    app.run()
    assert bridge(app) == told
    tell(app, KEY, "selected", {"head": 0, "seq": 1})
    assert bridge(app)["nav"] == told["nav"]
    app.query_params["head"] = "3"  # back to what was told before: the browser has another by now
    app.run()
    assert bridge(app)["nav"] != told["nav"] and bridge(app)["head"] == 3


def test_a_shorter_sentence_moves_the_token_and_says_so(app: AppTest) -> None:
    before = bridge(app)
    assert before["initial"]["token"] == 5
    app.text_input(key="frame.text").set_value("The cat").run()
    told = bridge(app)
    assert told["nav"] != before["nav"] and told["token"] == 1 and "head" not in told
    assert told["initial"]["token"] == 1


@pytest.mark.parametrize(
    "told",
    [
        "a word",
        7,
        [1, 2],
        {},
        {"layer": "2"},
        {"layer": -1, "head": 1.5, "token": True},
        {"token": 10**9, "seq": -1},
        {"head": None, "seq": "7"},
        {"side": "encoder", "model": "x", "edits": "no-mask"},
    ],
    ids=str,
)
def test_what_is_no_selection_is_ignored(told: object, app: AppTest) -> None:
    before, view = bridge(app), app.session_state["view"]
    tell(app, KEY, "selected", told)
    assert shown(app) == (1, 2, 3) and app.session_state["view"] == view
    assert bridge(app) == before


def test_what_the_run_does_not_have_is_put_right_in_the_browser(app: AppTest) -> None:
    before = bridge(app)
    tell(app, KEY, "selected", {"layer": 99, "head": 99, "token": 99, "seq": 1})
    layer, head, token = shown(app)
    told = bridge(app)
    assert told["nav"] != before["nav"]
    assert [told[name] for name in ("layer", "head", "token")] == [layer, head, token] and max(layer, head, token) < 99


def test_a_visitor_who_rests_has_the_neighbours_drawn(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST_SECONDS", 60.0)
    assert mounts(app)[RESTS]["wants"] and all(len(picture.cases) == 1 for picture in pictures(app).values())
    tell(app, RESTS, "rested", True)
    found = pictures(app)
    assert shown(app) == (1, 2, 3) and not mounts(app)[RESTS]["wants"]
    by_head = [picture for picture in found.values() if picture.header.get("by") == ["layer", "head"]]
    assert by_head and all({(1, head) for head in range(6)} <= set(picture.cases) for picture in by_head)
    # A click on a neighbour is answered with what the browser has: nothing is sent again.
    tell(app, KEY, "selected", {"head": 4, "seq": 1})
    again = pictures(app)
    assert all(again[key].header == picture.header for key, picture in found.items() if picture in by_head)
