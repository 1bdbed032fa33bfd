"""Lessons of a teacher's own: how they come here, and what is wrong with those that do not."""

from __future__ import annotations

import streamlit as st

from viz_model.app.lessons import asking, shelf
from viz_model.lessons import keys
from viz_model.lessons.read import read
from viz_model.lessons.shelf import VARIABLE, text_of
from viz_model.lessons.source import LessonError
from viz_model.texts import LANGUAGES, Texts
from viz_model.texts.markdown import literal, quoting


def draw(t: Texts) -> None:
    """What to do, a check of a file, and the files that were refused."""
    st.markdown(t("lesson.own_lead", variable=literal(VARIABLE)))
    given = st.file_uploader(t("lesson.own_check"), type="toml", key="lesson.check", help=t("lesson.own_check_help"))
    if given is not None:
        _check(given.name, given.getvalue(), t)
    if refused := shelf.lessons().refused:
        st.markdown(t("lesson.own_refused"))
        for wrong in refused:
            _tell(wrong, t)


def _check(file: str, content: bytes, t: Texts) -> None:
    """Whether a file can be used; the key of every question, for the lesson's own sentences."""
    try:
        lesson = read(file, text_of(content), shelf.offer())
    except UnicodeDecodeError as wrong:
        _tell(LessonError(file, 0, str(wrong)), t)
        return
    except LessonError as wrong:
        _tell(wrong, t)
        return
    found = {
        language: [keys.answer(lesson, n, language, language, shelf.run) for n in range(len(lesson.steps))]
        for language in LANGUAGES
    }
    for language, answers in found.items():
        for step, answer in zip(lesson.steps, answers, strict=True):
            if answer.why:
                _tell(LessonError(file, step.line, answer.why, language), t)
    if not any(answer.why for answers in found.values() for answer in answers):
        st.success(t("lesson.own_fine", file=literal(file), n=len(lesson.steps)), icon=":material/check:")
    lines = []
    for n, step in enumerate(lesson.steps):
        asked = [answers[n].key for answers in found.values()]
        told = dict.fromkeys(asking.told(key) for key in asked if key is not None)
        said = " · ".join(filter(None, told)) or "–"
        lines.append(f"- {t('lesson.own_asked', n=n + 1, title=quoting(step.title[t.language]), answer=said)}")
    st.markdown("\n".join(lines))


def _tell(wrong: LessonError, t: Texts) -> None:
    key = t("lesson.own_key", key=literal(wrong.key)) if wrong.key else ""
    at = "own_line" if wrong.line else "own_file"
    said = t(f"lesson.{at}", file=literal(wrong.file), line=wrong.line, reason=key + t.error(wrong.why))
    st.error(said, icon=":material/error:")
