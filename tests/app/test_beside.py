"""Two runs side by side, of another sentence or in the twin: one message with both, and what differs between them."""

import re

import pytest
from app_driver import ISLAND, address, answer, boxes, check_cells, island_lines, messages, open_page
from scenes import Sent, island
from streamlit.testing.v1 import AppTest
from tiers import some

import viz_model as vm
from viz_model.app import runs
from viz_model.app import view as views
from viz_model.lessons.answers import Progress

TEXT, ALSO = "The little cat sat", "The big dog sat on the mat today"
PAGES = ("attention", "block", "position", "embedding", "next_token", "tokens", "norm_placement", "attribution")
PRE, POST = "story-pre-ln", "story-post-ln"


def sent(app: AppTest) -> Sent:
    return messages(app)[ISLAND]


def shown(app: AppTest, side: int) -> set[str]:
    """The pictures of a side; what stands around a page is of the first text alone."""
    return set(island(sent(app), address(app), side)[0])


def ribbons(app: AppTest) -> list[list[str]]:
    """The tokens of each line; those that differ with ≠ in front."""
    lines = sent(app).header["ribbons"]
    return [[("≠" if chip.get("differs") else "") + chip["label"] for chip in line["chips"]] for line in lines]


@pytest.mark.parametrize("page", some(PAGES, 4))
def test_each_side_has_the_numbers_of_its_own_run(page: str) -> None:
    query = {"lang": "en", "token": "6", "layer": "1", "head": "3"}
    alone = shown(open_page(page, {**query, "text": ALSO}), 0)
    for texts in ((TEXT, ALSO), (ALSO, TEXT)):
        app = open_page(page, {**query, "text": texts[0], "also": texts[1]})
        for side, text in enumerate(texts):
            assert shown(app, side) == alone
            check_cells(app, vm.load("story-pre-ln").trace(text), side=side)
            assert sent(app).header["sides"][side]["token"] == (4 if text == TEXT else 8)


@pytest.mark.usefixtures("family")
def test_one_that_the_model_cannot_read_leaves_the_first_alone_and_says_why() -> None:
    app = open_page("attention", {"model": "tiny-llama-ids", "text": "5 9 12", "also": "a cat", "lang": "en"})
    assert len(sent(app).header["sides"]) == 1 and boxes(app)["also"] == "a cat"
    assert any(re.match("The other sentence: .*is not a token id", line) for line in island_lines(app))
    app = answer(app, also="5 9 7 1")
    assert [line["last"] for line in sent(app).header["ribbons"]] == [2, 3] and address(app)["also"] == "5 9 7 1"
    app = answer(app, also="")
    assert "also" not in address(app) and boxes(app)["also"] == "" and len(sent(app).header["sides"]) == 1


def test_neither_a_lesson_nor_a_picture_has_another_sentence() -> None:
    lesson = Progress("first_walk", 1, "en", ()).query()
    app = open_page("attention", {"text": TEXT, "also": ALSO, "lang": "en", **lesson})
    assert "also" not in address(app)
    app = open_page("attention", {"model": "digits-vit", "also": ALSO, "lang": "en"})
    assert "also" not in address(app) and len(sent(app).header["sides"]) == 1


@pytest.mark.parametrize("page", ("overview", *PAGES[:5], *PAGES[6:], "ablations", "batch"))
def test_the_twin_reads_the_same_sentence_beside(page: str) -> None:
    query = {"lang": "en", "token": "3", "layer": "1", "head": "3", "text": TEXT, "beside": "twin"}
    app = open_page(page, {**query, "model": PRE})
    assert len(sent(app).header["sides"]) == 2 and address(app)["beside"] == "twin"
    assert [line["whose"] for line in sent(app).header["ribbons"]] == ["Pre-LN", "Post-LN"]
    if page in ("batch", "ablations"):  # whose cells are of other runs
        return
    for side, name in enumerate((PRE, POST)):
        check_cells(app, vm.load(name).trace(TEXT), side=side)


def test_the_twin_comes_and_goes_by_its_switch_and_takes_the_place_of_another_sentence() -> None:
    app = open_page("attention", {"lang": "en", "model": PRE, "text": TEXT, "also": ALSO, "beside": "twin"})
    assert "beside" not in address(app) and not app.toggle(key="sidebar.beside").value
    app.toggle(key="sidebar.beside").set_value(True).run()
    assert address(app)["beside"] == "twin" and "also" not in address(app) and set(boxes(app)) == {"text"}
    app.button_group(key="sidebar.norm_at").set_value("post").run()
    assert [line["whose"] for line in sent(app).header["ribbons"]] == ["Post-LN", "Pre-LN"]
    app.toggle(key="sidebar.beside").set_value(False).run()
    assert "beside" not in address(app) and len(sent(app).header["sides"]) == 1


def test_without_a_twin_nothing_stands_beside() -> None:
    app = open_page("attention", {"lang": "en", "model": "story-modern", "text": TEXT, "beside": "twin"})
    assert len(sent(app).header["sides"]) == 1 and not [one for one in app.toggle if one.key == "sidebar.beside"]
    assert any("no trained twin" in line for line in island_lines(app)) and address(app)["beside"] == "twin"
    for name, is_there in ((PRE, True), ("story-modern", False), (POST, False)):  # who does not ask for it is not told
        app.selectbox(key="sidebar.model").set_value(name).run()
        assert not any("no trained twin" in line for line in island_lines(app)), name
        assert ("beside" in address(app), len(sent(app).header["sides"])) == (is_there, 1 + is_there)
    view, notices = views.parse({"beside": "another"}, [PRE], runs.configs(), "en")
    assert not view.twin and [notice.values["name"] for notice in notices] == ["beside"]
