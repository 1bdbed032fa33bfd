"""Lessons in the app: a step beside its page, the way through, the end, and the teacher's page."""

import csv
import io

import pytest
from app_driver import ISLAND, mounts, open_page
from streamlit.testing.v1 import AppTest

from viz_model.app.lessons import shelf
from viz_model.lessons import answers, result
from viz_model.lessons.answers import Given, Progress
from viz_model.lessons.questions import ChoiceKey
from viz_model.texts import Texts


def step(name: str, n: int, *given: Given, lang: str = "en") -> AppTest:
    lesson = shelf.lessons().lessons[name]
    progress = Progress(name, n, lang, given)
    view = lesson.view(n, lang, lang)
    return open_page(view.page, {**view.query, "lang": lang, **progress.query()})


def words(app: AppTest) -> str:
    every = (*app.markdown, *app.caption, *app.info, *app.success, *app.warning, *app.header, *app.subheader)
    return "\n".join(each.value for each in every)


def asked(app: AppTest, name: str) -> str | None:
    """A parameter of the address: a list where the app has written it, and the text itself where the test has."""
    found = app.query_params.get(name)
    return found[0] if isinstance(found, list) else found


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    assert not app.exception, app.exception[0].message
    return app


def test_a_guess_opens_the_page_and_one_hint_follows_a_wrong_answer() -> None:
    app = step("first_walk", 4)
    key = shelf.answer(shelf.lessons().lessons["first_walk"], 4, "en", "en").key
    assert isinstance(key, ChoiceKey)
    t, name = Texts("en"), "lesson.answer.first_walk.4"
    assert t("lesson.curtain") in words(app) and len(app.header) == 1, "the step's own"
    assert app.button(key="lesson.next").disabled and app.button(key=f"{name}.answer").disabled
    wrong = next(option.code for option in key.options if option.code not in key.right)
    app.pills(key=name).set_value(wrong).run()
    press(app, f"{name}.answer")
    said = words(app)
    assert t("lesson.curtain") in said and "You have one more try" in said and t("lesson.hint") in said
    assert asked(app, "lesson.given") == f"~~~~{wrong}"
    app.pills(key=name).set_value(key.right[0]).run()
    press(app, f"{name}.answer")
    said = words(app)
    assert t("lesson.curtain") not in said and mounts(app)[ISLAND]["heading"] == "Attention"
    assert answers.told(key) in said and not app.button(key="lesson.next").disabled
    assert asked(app, "lesson.given") == f"~~~~{wrong}!{key.right[0]}"
    again = step("first_walk", 4, *[Given()] * 4, Given((wrong, key.right[0])))
    assert words(again) == said, "an address is all that there is of it"


def test_what_is_no_number_is_asked_for_again_and_the_run_is_pinned() -> None:
    app = step("attention_by_hand", 0)
    name = "lesson.answer.attention_by_hand.0"
    assert not [each for each in app.text_input if each.key == "frame.text"], "the sentence has no box"
    assert not [each for each in app.selectbox if each.key == "sidebar.model"]
    app.text_input(key=name).set_value("many")
    press(app, f"FormSubmitter:{name}.form-Answer")
    assert asked(app, "lesson.given") is None and Texts("en")("lesson.no_number") in words(app)
    app.text_input(key=name).set_value("32")
    press(app, f"FormSubmitter:{name}.form-Answer")
    assert asked(app, "lesson.given") == "32" and "Right on the first try" in words(app)
    app.query_params.update({"model": "story-modern", "text": "Other", "edits": "no-mask"})
    app.run()
    assert (asked(app, "model"), asked(app, "text")) == ("story-pre-ln", "The cat sat")
    assert asked(app, "edits") is None


def test_the_end_has_a_file_that_the_teachers_page_reads() -> None:
    lesson = shelf.lessons().lessons["first_walk"]
    given = []
    for n, each in enumerate(lesson.steps):
        key = shelf.answer(lesson, n, "en", "en").key
        right = key.right[0] if isinstance(key, ChoiceKey) else answers.told(key) if key else ""
        given.append(Given((right or "Because `$x$` <b>",)) if each.question else Given())
    given[1] = Given(("1", "2"))
    app = open_page("lessons", {**Progress(lesson.name, len(lesson.steps), "en", tuple(given)).query(), "lang": "en"})
    assert "7 of 8 questions right" in words(app)
    app.text_input(key="lesson.name").set_value("Ada").run()
    (download,) = app.get("download_button")
    assert not download.proto.disabled
    from viz_model.app.lessons import desk

    rows = desk.rows(lesson, Progress(lesson.name, 0, "en", tuple(given)), "en")
    made = result.Result(lesson.name, "T", lesson.digest, "Ada", "S", "en", "now", rows)
    text = result.write(made)
    assert [row.outcome for row in rows].count("wrong") == 1 and result.read(text).is_as_written
    other = result.write(made._replace(name="=Eve"))
    board = open_page("lessons", {"desk": "results", "lang": "en"})
    files = [("ada.csv", text), ("eve.csv", other.replace("wrong", "right")), ("no.csv", "a,b"), ("copy.csv", text)]
    sent = [(name, content.encode("utf-8-sig"), "text/csv") for name, content in files]
    board.file_uploader(key="lesson.results").set_value(sent).run()
    assert not board.exception, board.exception
    who, where = (each.value for each in board.dataframe)
    assert list(who["name"]) == ["Ada", "'=Eve"] and list(who["checksum"]) == ["matches", "does not match"]
    assert who["2"][0].startswith("✗") and where["step"][0] == 2 and where["wrong"][0] == 1
    assert Texts("en")("lesson.results_again", n=1) in [each.value for each in board.info]
    assert any("no.csv" in one.value for one in board.error) and any("eve.csv" in one.value for one in board.warning)
    assert [each.value for each in board.text] == ["Because `$x$` <b>"] * 4
    assert list(csv.reader(io.StringIO(text)))[-1][0] == "checksum"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_part_of_the_desk_and_the_way_in(lang: str) -> None:
    t = Texts(lang)
    app = open_page("lessons", {"lang": lang})
    for lesson in shelf.lessons().lessons.values():
        assert lesson.title[lang] in words(app)
    press(app, "lesson.start.norms")
    assert app.header[0].value == shelf.lessons().lessons["norms"].title[lang]
    press(app, "lesson.start")
    assert asked(app, "lesson.step") == "0" and asked(app, "lesson.on") == lang
    paper = open_page("lessons", {"lang": lang, "desk": "paper"})
    press(paper, "lesson.paper_make")
    assert len(paper.get("download_button")) == 5
    own = open_page("lessons", {"lang": lang, "desk": "own"})
    assert t("lesson.own_lead", variable="`VIZ_MODEL_LESSONS`") in words(own)
