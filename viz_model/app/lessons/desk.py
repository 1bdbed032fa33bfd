"""Where lessons begin and end: the list of them, the way into one, and what is handed in."""

import datetime
from dataclasses import replace

import streamlit as st

from viz_model.app import frame, runs, search, state
from viz_model.app.choices import one_of
from viz_model.app.lessons import asking, class_results, paper, room, shelf, step
from viz_model.lessons import keys, result
from viz_model.lessons.answers import Outcome, Progress
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.read import read
from viz_model.lessons.result import MOST_NAME, Result, Row
from viz_model.lessons.shelf import VARIABLE, text_of
from viz_model.lessons.source import LessonError
from viz_model.texts import LANGUAGES, Texts
from viz_model.texts.markdown import literal, quoting, row

PART = one_of("desk", ("lessons", "room", "paper", "results", "own"))
MOST_SENTENCE = 200
"""Characters of a reader's own sentence, which the address holds."""


def run() -> None:
    """Open the page."""
    frame.navigation()
    state.has_parts(None)
    view = state.begin(runs.names(), runs.offered(), frame.DESK, (PART, room.CODE, room.KEY))
    frame.arrived()
    t = Texts(view.lang)
    state.write(view)
    frame.begin_without_run(t)
    progress, lessons = view.lesson, shelf.lessons().lessons
    if progress is not None and progress.name in lessons:
        lesson = lessons[progress.name]
        if progress.step < len(lesson.steps):
            _opening(lesson, progress, t)
        else:
            _end(lesson, progress, t)
        return
    if progress is not None:
        st.warning(t("lesson.unknown", asked=literal(progress.name)))
    search.heading(t("lesson.heading"), t)
    st.markdown(t("lesson.lead"))
    match _part(t):
        case "room":
            room.draw(lessons, t)
        case "paper":
            paper.draw(t)
        case "results":
            class_results.draw(t)
        case "own":
            draw(t)
        case _:
            _list(lessons, t)


def _part(t: Texts) -> str:
    shown = state.current().chosen(frame.DESK, PART)
    state.follow("lesson.desk", shown)

    def changed() -> None:
        if not state.is_late("lesson.desk"):
            state.update(**state.choose(frame.DESK, (PART, st.session_state["lesson.desk"])))

    st.segmented_control(
        t("common.page_lessons"),
        ["lessons", "room", "paper", "results", "own"],
        key="lesson.desk",
        format_func=lambda part: t(f"lesson.desk_{part}"),
        required=True,
        label_visibility="collapsed",
        on_change=changed,
    )
    return shown


def _list(lessons: dict[str, Lesson], t: Texts) -> None:
    columns = st.container(key="lesson_cards").columns(2)
    for n, (name, lesson) in enumerate((name, one) for name, one in lessons.items() if name != shelf.TRIED):
        with columns[n % 2].container(border=True, gap="small"):
            st.markdown(f"### {lesson.title[t.language]}")
            st.caption(t("lesson.minutes", n=lesson.minutes, steps=len(lesson.steps)))
            st.markdown(lesson.about[t.language])
            begun = {**Progress(name, on=t.language).query(), "lang": t.language}
            st.button(t("lesson.start"), key=f"lesson.start.{name}", on_click=frame.lead, args=(frame.DESK, begun))


def _opening(lesson: Lesson, progress: Progress, t: Texts) -> None:
    """What a lesson is about, and the way into it."""
    search.heading(lesson.title[t.language], t)
    st.caption(t("lesson.minutes", n=lesson.minutes, steps=len(lesson.steps)))
    st.markdown(lesson.about[t.language])
    own_sentence = f"lesson.sentence.{lesson.name}"
    if lesson.takes_sentences:
        st.text_input(
            t("lesson.own_sentence"),
            key=own_sentence,
            max_chars=MOST_SENTENCE,
            placeholder=lesson.sentence[t.language],
            help=t("lesson.own_sentence_help"),
        )

    def begin() -> None:
        typed = st.session_state.get(own_sentence, "").strip()
        step.go(lesson, Progress(lesson.name, 0, typed or t.language), 0, t.language)

    with st.container(horizontal=True, key="lesson_begin"):
        st.button(t("lesson.start"), key="lesson.start", type="primary", on_click=begin)
        _to_desk(t)


def _to_desk(t: Texts) -> None:
    to = (frame.DESK, {"lang": t.language})
    st.button(t("lesson.to_desk"), key="lesson.to_desk", type="tertiary", on_click=frame.lead, args=to)


def rows(lesson: Lesson, progress: Progress, language: str) -> tuple[Row, ...]:
    """How every question came out."""
    found = (shelf.row(lesson, progress, n, language) for n in range(len(lesson.steps)))
    return tuple(row for row in found if row is not None)


def _end(lesson: Lesson, progress: Progress, t: Texts) -> None:
    """How it went, and the file to hand in."""
    done = rows(lesson, progress, t.language)
    search.heading(t("lesson.end"), t)
    st.markdown(f"**{lesson.title[t.language]}**")
    counted = [each.outcome for each in done if each.is_graded]
    helped = counted.count("hinted")
    right = counted.count("right") + helped
    st.markdown(t("lesson.end_count", right=right, hinted=helped, n=len(counted)))
    if still_open := [str(each.step) for each in done if each.outcome == "open"]:
        st.warning(t("lesson.end_open", steps=", ".join(still_open)))
    names = ("step", "question", "answers", "key", "outcome")
    lines = [row([t(f"lesson.column_{name}") for name in names]), row(["---"] * len(names))]
    for each in done:
        given = " · ".join(literal(answer) for answer in (each.first, each.second) if answer)
        right_answer = literal(each.right) if each.right and each.outcome != "open" else ""  # one can go back to it
        mark = t(f"lesson.mark_{each.outcome}")
        lines.append(row([str(each.step), each.question, given, right_answer, f"{_ICONS[each.outcome]} {mark}"]))
    with st.container(key="lesson_done"):
        st.markdown("\n".join(lines))
    st.subheader(t("lesson.hand_in"), anchor=False)
    st.caption(t("lesson.hand_in_help"))
    with st.container(horizontal=True, vertical_alignment="bottom", key="lesson_hand_in"):
        name = st.text_input(t("lesson.name"), key="lesson.name", max_chars=MOST_NAME, help=t("lesson.name_help"))
        written = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M}"
        sentence = lesson.sentence.get(progress.on, progress.on)
        made = Result(
            lesson.name, lesson.title[t.language], lesson.digest, name.strip(), sentence, t.language, written, done
        )
        st.download_button(
            t("lesson.download"),
            result.write(made).encode("utf-8-sig"),
            file_name=f"{lesson.name}-{_file_name(name)}.csv",
            mime="text/csv",
            key="lesson.download",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
            disabled=not name.strip(),
        )
    with st.container(horizontal=True, key="lesson_after"):
        last = (lesson, progress, len(lesson.steps) - 1, t.language)
        st.button(t("lesson.back"), key="lesson.back", icon=":material/arrow_back:", on_click=step.go, args=last)
        _to_desk(t)
        to = (frame.DESK, {"lang": t.language, "desk": "results"})
        st.button(t("lesson.for_teacher"), key="lesson.for_teacher", type="tertiary", on_click=frame.lead, args=to)


_ICONS: dict[Outcome, str] = {
    "right": ":material/check:",
    "hinted": ":material/check_small:",
    "wrong": ":material/close:",
    "passed": ":material/skip_next:",
    "kept": ":material/edit:",
    "open": ":material/radio_button_unchecked:",
}


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name.strip())[:40] or "result"


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
    for language, given in found.items():
        for each, answer in zip(lesson.steps, given, strict=True):
            if answer.why:
                _tell(LessonError(file, each.line, answer.why, language), t)
    if not any(answer.why for given in found.values() for answer in given):
        st.success(t("lesson.own_fine", file=literal(file), n=len(lesson.steps)), icon=":material/check:")

        def take() -> None:
            st.session_state[shelf.TRIED] = replace(lesson, name=shelf.TRIED)
            step.go(lesson, Progress(shelf.TRIED, 0, t.language), 0, t.language)

        st.button(t("lesson.own_take"), key="lesson.take", on_click=take)
    lines = []
    for n, each in enumerate(lesson.steps):
        asked = [given[n].key for given in found.values()]
        told = dict.fromkeys(asking.told(key) for key in asked if key is not None)
        said = " · ".join(filter(None, told)) or "–"
        lines.append(f"- {t('lesson.own_asked', n=n + 1, title=quoting(each.title[t.language]), answer=said)}")
    st.markdown("\n".join(lines))


def _tell(wrong: LessonError, t: Texts) -> None:
    key = t("lesson.own_key", key=literal(wrong.key)) if wrong.key else ""
    at = "own_line" if wrong.line else "own_file"
    said = t(f"lesson.{at}", file=literal(wrong.file), line=wrong.line, reason=key + t.error(wrong.why))
    st.error(said, icon=":material/error:")
