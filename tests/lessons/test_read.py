"""A lesson that is wrong is refused, with the line and the reason; those that come with the package are right."""

import os
from pathlib import Path

import pytest
from lessons.lesson_files import GOOD, NUMBER, STEP, TOP, lesson

from viz_model.app.lessons import shelf
from viz_model.lessons import answers
from viz_model.lessons.questions import CellKey, ChoiceKey, Free, NumberKey
from viz_model.lessons.shelf import ORDER, VARIABLE
from viz_model.lessons.source import LessonError


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "at", "reason"),
    [
        ("minutes = 20", "minutes = 20\nminute = 3", "minute = 3", "minute: not known here"),
        ("minutes = 20", "minutes = 20.5", "minutes", "minutes: expected a whole number from 1 to 240, got 20.5"),
        ('title = "A title"\n', "", "minutes", "title: a text is missing"),
        ('hint = "A hint"', 'hint.zh = "A hint"', "hint.zh", "hint.en: a text is missing"),
        ('zh = "从前', 'de = "从前', "sentence =", "de: not known here"),
        ('"attention?layer', '"attentoin?layer', "view =", "no page 'attentoin'"),
        ("layer=1&head=2", "layer=1&haed=2", "view =", "knows no 'haed'"),
        ("layer=1&head=2", "token=4", "view =", "token 4: '从前，有一只小兔子' has 4, counted from 0"),
        ("layer=1&head=2", "cell=blocks.1.attn.pattern:0,0,9", "view =", "index [0, 0, 9] of blocks.1.attn.pattern"),
        ("layer=1&head=2", "model=digits-vit", "view =", "digits-vit reads pictures"),
        ('"story-pre-ln"', '"digits-vit"', "model =", "digits-vit reads pictures"),
        ("{{n_layers}}", "{{n_lairs}}", "text =", "nothing is known of {{n_lairs}}"),
        ('then = "It is', 'than = "It is', "than =", "than: not known here"),
        ('"number"', '"nummer"', "question.kind", "expected one of number, choice, cell, free"),
        ("head = 2, query", "head = 6, query", "question.at", "has 6, counted from 0; got 6"),
        (', key = "first"', "", "question.at", "key is left open"),
        ("tolerance = 0.01", "tolerance = -1", "question.tolerance", "expected 0 or more"),
        ('ask = "A question"\n', "", "question.kind", "a text under ask"),
        ('hint = "A hint"', 'controls = ["everything"]', "controls", "expected some of tokens"),
        ('text = "What', 'text = """What', "text =", "Unterminated string"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, at: str, reason: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(LessonError) as refused:
        lesson(text)
    wrong = refused.value
    assert reason in wrong.reason, wrong.reason
    assert wrong.line == line_of(text, at), (wrong.line, wrong.reason)
    assert str(wrong).startswith(f"mine, line {wrong.line}: ")


def test_a_place_is_one_of_the_model_that_is_shown() -> None:
    bert = GOOD.replace('"story-pre-ln"', '"story-bert"').replace("layer=1&head=2", "layer=1&head=2&token=5")
    other = GOOD.replace("layer=1&head=2", "model=translate-2017&side=encoder&layer=2")
    assert lesson(bert) and lesson(other.replace(NUMBER, 'question.kind = "free"'))
    with pytest.raises(LessonError, match="this model has layers 0 to 2"):
        lesson(other.replace("layer=2", "layer=3"))
    runs = """question.kind = "choice"
question.among = "runs"
question.value = "probs"
question.at = { token = "last", entry = "guess" }
[[step.question.run]]
view = ""
label = "as it is"
[[step.question.run]]
view = "edits=skip.9.ffn"
label = "another"
"""
    with pytest.raises(LessonError, match="layer: expected 0 to 3, got 9"):
        lesson(TOP + STEP + runs)


def test_every_lesson_of_the_package_can_be_taught_in_both_languages() -> None:
    found = shelf.lessons()
    assert found.refused == () and tuple(found.lessons)[: len(ORDER)] == ORDER
    kinds = set()
    for each in found.lessons.values():
        assert 15 <= each.minutes <= 40 and each.title["en"] != each.title["zh"]
        for n, step in enumerate(each.steps):
            assert step.text["en"] != step.text["zh"]
            for language in ("en", "zh"):
                answer = shelf.answer(each, n, language, language)
                assert (answer.key is None) == (step.question is None), (each.name, n, answer.why)
                kinds.add(type(answer.key))
                if answer.key is None or isinstance(step.question, Free):
                    continue
                right = answers.told(answer.key)
                assert right
                match answer.key:
                    case NumberKey(value=value):
                        assert answers.is_right(answer.key, right) and not answers.is_right(
                            answer.key, f"{value + 999}"
                        )
                    case ChoiceKey(options=options, right=codes) | CellKey(rows=options, right=codes):
                        assert len(codes) == 1 < len(options), (each.name, n, right)
    assert {NumberKey, ChoiceKey, CellKey} < kinds


def test_folders_of_the_teachers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, none = (tmp_path / name for name in ("first", "second", "none"))
    for folder in (first, second):
        folder.mkdir()
        (folder / "mine.toml").write_text(GOOD, encoding="utf-8-sig")  # as some editors save it
    (first / "norms.toml").write_text(GOOD.replace("A title", "Other norms"), encoding="utf-8")
    (first / "bad.toml").write_text(GOOD.replace("minutes = 20", "minutes = 0"), encoding="utf-8")
    monkeypatch.setenv(VARIABLE, os.pathsep.join(map(str, (first, second, none))))
    found = shelf.lessons()
    assert found.lessons["mine"].title["en"] == "A title" and found.lessons["norms"].title["en"] == "Other norms"
    assert [str(wrong) for wrong in found.refused] == [
        f"{second / 'mine.toml'}: another lesson has this name: {first / 'mine.toml'}",
        f"{none}: no such folder",
        "bad.toml, line 1: minutes: expected a whole number from 1 to 240, got 0",
    ]
    (first / "bad.toml").write_text(GOOD, encoding="utf-8")
    assert "bad" in shelf.lessons().lessons, "a file that was mended is read again"
