"""The boxes, buttons and cells with which a question of a lesson is answered."""

from collections.abc import Callable
from typing import Any, TypeAlias, assert_never

import streamlit as st

from viz_model.app import components, state
from viz_model.drawing.scene import encode
from viz_model.lessons import answers, pictures
from viz_model.lessons.answers import MOST_LETTERS
from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, Key, NumberKey
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

Hear: TypeAlias = Callable[[str], None]
"""What is done with an answer."""


def shown(key: Key, answer: str) -> str:
    """An answer for Markdown, to the letter."""
    return literal(answers.said(key, answer))


def told(key: Key) -> str:
    """The right answer for Markdown; empty where none is."""
    text = answers.told(key)
    return literal(text) if text and not isinstance(key, NumberKey) else text


def ask(key: Key, name: str, t: Texts, hear: Hear) -> None:
    """The means to answer; ``hear`` is told what was answered. A number that is none is asked for again."""
    match key:
        case NumberKey(percent=percent):
            _typed(name, t, hear, t("lesson.percent" if percent else "lesson.number"))
        case ChoiceKey():
            _chosen(key, name, t, hear)
        case CellKey():
            _clicked(key, name, t, hear)
        case FreeKey():
            _written(name, t, hear)
        case _:
            assert_never(key)


def _typed(name: str, t: Texts, hear: Hear, label: str) -> None:
    refused = f"{name}.refused"

    def submit() -> None:
        typed = st.session_state[name] or ""
        st.session_state[refused] = answers.number(typed) is None
        if not st.session_state[refused]:
            hear(typed.strip())

    with st.form(f"{name}.form", border=False):
        st.text_input(label, key=name, max_chars=20, autocomplete="off")
        st.form_submit_button(t("lesson.answer"), type="primary", on_click=submit)
    if st.session_state.get(refused):
        st.warning(t("lesson.no_number"))


def _chosen(key: ChoiceKey, name: str, t: Texts, hear: Hear) -> None:
    labels = {option.code: literal(option.label) for option in key.options}

    def submit() -> None:
        if (picked := st.session_state[name]) in labels:
            hear(picked)

    st.pills(
        t("lesson.choose"),
        list(labels),
        key=name,
        format_func=lambda code: labels.get(code, code),
        label_visibility="collapsed",
    )
    picked: Any = st.session_state.get(name)
    st.button(t("lesson.answer"), key=f"{name}.answer", type="primary", disabled=picked is None, on_click=submit)


def _clicked(key: CellKey, name: str, t: Texts, hear: Hear) -> None:
    picked: str | None = st.session_state.get(name)

    def pick(said: dict[str, Any]) -> None:
        row, column = (int(n) for n in said["index"])
        st.session_state[name] = f"{row}.{column}"
        state.run_again()

    def submit() -> None:
        hear(st.session_state[name])

    words = pictures.Words(t("lesson.grid"), t("common.axis_query"), t("common.axis_key"), t("common.masked"))
    scene = pictures.grid(key, words, is_blank=True, ringed=() if picked is None else (picked,))
    components.picture(encode(scene), key=f"{name}.grid", on_ask=pick)
    if picked is not None:
        st.caption(f"{t('lesson.picked')} {shown(key, picked)}")
    st.button(t("lesson.answer"), key=f"{name}.answer", type="primary", disabled=picked is None, on_click=submit)


def _written(name: str, t: Texts, hear: Hear) -> None:
    def submit() -> None:
        if written := (st.session_state[name] or "").strip():
            hear(written[:MOST_LETTERS])

    with st.form(f"{name}.form", border=False):
        st.text_area(t("lesson.free"), key=name, max_chars=MOST_LETTERS, height=120)
        st.form_submit_button(t("lesson.keep"), type="primary", on_click=submit)
