"""What is printed of a lesson, for any sentence and model: worksheet, answer key, slides, cards, and an activity."""

from collections.abc import Callable

import streamlit as st

from viz_model.app import runs, state
from viz_model.app.lessons import shelf
from viz_model.lessons import keys, paper
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.paper import Paper, Size
from viz_model.texts import Texts, labels, sections

MOST_SENTENCE = 400
SIZES: dict[str, Size] = {"a4": "A4", "letter": "letter"}
_BEFORE = "paper_"


def draw(t: Texts) -> None:
    """What is to be printed, and the files."""
    lessons = shelf.lessons().lessons
    st.markdown(t("lesson.paper_lead"))
    key = "lesson.paper"
    state.follow(key, st.session_state.get(key, next(iter(lessons))), offers=t.language)
    name = st.selectbox(
        t("lesson.paper_lesson"), list(lessons), format_func=lambda n: lessons[n].title[t.language], key=key
    )
    lesson = lessons[name]
    sentence = st.text_input(
        t("lesson.paper_sentence"),
        key=f"lesson.paper_sentence.{name}",
        max_chars=MOST_SENTENCE,
        placeholder=lesson.sentence[t.language],
        help=t("lesson.paper_sentence_help"),
    ).strip()
    models = list(runs.configs())
    model = st.selectbox(
        t("lesson.paper_model"),
        models,
        index=models.index(lesson.model),
        key=f"lesson.paper_model.{name}",
        help=t("lesson.paper_model_help"),
    )
    size = st.segmented_control(
        t("lesson.paper_size"),
        list(SIZES),
        default="a4",
        required=True,
        key="lesson.paper_size",
        format_func=lambda size: t(f"lesson.paper_size_{size}"),
    )
    wanted = (name, sentence, model, size, t.language)
    if st.button(t("lesson.paper_make"), type="primary", key="lesson.paper_make"):
        st.session_state["lesson.paper_made"] = wanted
    if st.session_state.get("lesson.paper_made") != wanted:
        return
    made = of(lesson, sentence or t.language, model, t, SIZES[size])
    st.caption(t("lesson.paper_how"))
    with st.container(horizontal=True):
        kinds: dict[str, Callable[[Paper], str]] = {
            "worksheet": paper.worksheet,
            "key": paper.answer_key,
            "slides": paper.slides,
            "cards": paper.cards,
            "unplugged": lambda made: paper.unplugged(made, sections(t.language, "unplugged")["activity"]),
        }
        for kind, write in kinds.items():
            st.download_button(
                t(f"lesson.paper_{kind}"),
                write(made).encode(),
                file_name=f"{name}-{kind}-{t.language}.html",
                mime="text/html",
                key=f"lesson.paper_{kind}",
                icon=":material/download:",
                on_click="ignore",
            )


def of(lesson: Lesson, on: str, model: str, t: Texts, size: Size) -> Paper:
    """A lesson on a sentence, with the keys of a model in place of the lesson's own."""
    steps = range(len(lesson.steps))
    shown = [lesson.view(n, on, t.language).query["model"] for n in steps]
    used = [model if name == lesson.model else name for name in shown]
    own = {key: text for key, text in labels(t.language, "lesson").items() if key.startswith(_BEFORE)}
    words = {key.removeprefix(_BEFORE): text for key, text in own.items()}
    words |= {"query": t("common.axis_query"), "key": t("common.axis_key"), "masked": t("common.masked")}
    return Paper(
        lesson=lesson,
        language=t.language,
        sentence=lesson.sentence.get(on, on),
        model=model,
        answers=tuple(shelf.answer(lesson, n, on, t.language, model) for n in steps),
        numbers=tuple(keys.printed(lesson, n, on, t.language, shelf.run, model) for n in steps),
        configs=tuple(runs.configs()[name] for name in used),
        words=words,
        size=size,
    )
