"""Worksheets and keys: one file each, with pictures of lines, in both sizes of paper."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from viz_model.app.lessons import paper as desk
from viz_model.app.lessons import shelf
from viz_model.lessons import answers, paper
from viz_model.lessons.questions import CellKey, ChoiceKey, NumberKey
from viz_model.texts import Texts


class Tags(HTMLParser):
    """The tags of a file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name in ("src", "href") or name.startswith("on") for name, _ in attrs), (
            "nothing is fetched or run"
        )


@pytest.mark.parametrize(("language", "size"), [("en", "A4"), ("zh", "letter")])
def test_every_lesson_can_be_printed(language: str, size: paper.Size) -> None:
    drawn = 0
    for lesson in shelf.lessons().lessons.values():
        made = desk.of(lesson, language, lesson.model, Texts(language), size)
        worksheet, key = paper.worksheet(made), paper.answer_key(made)
        assert f"size: {size};" in worksheet and f'lang="{language}"' in key
        for sheet in (worksheet, key):
            tags = Tags(sheet).tags
            assert not {"script", "img", "iframe", "link"} & {*tags}
            assert tags.count("section") == len(lesson.steps) and "{{" not in sheet
        for found in made.answers:
            match found.key:
                case NumberKey() | ChoiceKey() | CellKey():
                    told = html.escape(answers.told(found.key))
                    assert f": {told}</b>" in key and f": {told}</b>" not in worksheet
            drawn += isinstance(found.key, ChoiceKey | CellKey)
            if isinstance(found.key, ChoiceKey):
                assert all(f"<li>{html.escape(option.label)}</li>" in worksheet for option in found.key.options)
        pictures = sum(isinstance(found.key, ChoiceKey | CellKey) for found in made.answers)
        assert Tags(key).tags.count("svg") == pictures
    assert drawn > 10


def test_another_sentence_and_model_have_keys_of_their_own() -> None:
    lesson = shelf.lessons().lessons["attention_by_hand"]
    t = Texts("en")
    usual = paper.answer_key(desk.of(lesson, "en", lesson.model, t, "A4"))
    other = paper.answer_key(desk.of(lesson, "<b>Dogs</b> & cats", "story-modern", t, "A4"))
    assert (
        "<b>Dogs" not in other and html.escape("<b>Dogs</b> & cats", quote=False) in other and "story-modern" in other
    )
    numbers = [re.findall(r"<b>Answer: ([-\d.]+)", each) for each in (usual, other)]
    assert len(numbers[0]) == len(numbers[1]) and numbers[0] != numbers[1]


def test_a_question_that_a_model_cannot_be_asked_says_so() -> None:
    lesson = shelf.lessons().lessons["translation"]
    made = desk.of(lesson, "en", "story-pre-ln", Texts("en"), "A4")
    assert "No question here for this sentence and model" in paper.worksheet(made)


def test_prose_is_no_markup_but_its_own() -> None:
    assert paper.prose("a **b** *c* `d<e>`\n\n<script>") == (
        "<p>a <b>b</b> <i>c</i> <code>d&lt;e&gt;</code></p><p>&lt;script&gt;</p>"
    )
