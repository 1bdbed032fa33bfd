"""A room of a class: opened by a teacher, joined by code, followed while it goes on."""

import datetime

import streamlit as st

from viz_model.app import frame, share, state
from viz_model.app.choices import words
from viz_model.app.lessons import class_results, step
from viz_model.app.lessons.seat import EVERY_SECONDS
from viz_model.lessons import room as rooms
from viz_model.lessons.answers import Progress
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.result import MOST_NAME, Handed, Result
from viz_model.lessons.room import ROOMS, Room, RoomError
from viz_model.texts import Texts
from viz_model.texts.markdown import literal, quoting

CODE = words("room", rooms.CODE)
KEY = words("room_key", r"[\w-]{8,40}")
_CODE, _NAME, _LESSON, _PACE = "lesson.room.code", "lesson.room.name", "lesson.room.lesson", "lesson.room.pace"
_FAILED = "lesson.room.failed"


def draw(lessons: dict[str, Lesson], t: Texts) -> None:
    """The teacher's view, the way into a room, or both forms."""
    view = state.current()
    code, key = view.chosen(frame.DESK, CODE), view.chosen(frame.DESK, KEY)
    if failed := st.session_state.pop(_FAILED, ""):
        st.error(t(f"lesson.{failed}"))
    try:
        if code and key:
            _follow(ROOMS.find(code, key), lessons, t)
            return
        if code:
            _join(ROOMS.find(code), lessons, t)
            return
    except RoomError as wrong:
        st.warning(t(f"lesson.{wrong}"))
    _enter(t)
    _open(lessons, t)


def _enter(t: Texts) -> None:
    """For a pupil who was told a code."""

    def enter() -> None:
        typed = "".join(st.session_state[_CODE].split()).upper()
        try:
            state.update(**state.choose(frame.DESK, (CODE, ROOMS.find(typed).code)))
        except RoomError as wrong:
            st.session_state[_FAILED] = str(wrong)

    with st.form("lesson_room_enter", border=False):
        st.text_input(t("lesson.room_code"), key=_CODE, max_chars=12)
        st.form_submit_button(t("lesson.room_enter"), on_click=enter)


def _open(lessons: dict[str, Lesson], t: Texts) -> None:
    """For a teacher."""
    st.subheader(t("lesson.room_for_teacher"), anchor=False)
    if not rooms.are_allowed():
        st.info(t("lesson.room_off", variable=literal(rooms.VARIABLE)))
        return
    st.markdown(t("lesson.room_lead"))

    def begin() -> None:
        by_steps = st.session_state[_PACE] == "steps"
        try:
            made = ROOMS.open(st.session_state[_LESSON], t.language, by_steps=by_steps)
        except RoomError as wrong:
            st.session_state[_FAILED] = str(wrong)
            return
        state.update(**state.choose(frame.DESK, (CODE, made.code), (KEY, made.key)))

    for key, first in ((_LESSON, next(iter(lessons))), (_PACE, "steps")):
        state.follow(key, st.session_state.get(key, first), offers=t.language)
    with st.form("lesson_room_open", border=False):
        st.selectbox(
            t("lesson.room_lesson"),
            list(lessons),
            key=_LESSON,
            format_func=lambda name: lessons[name].title[t.language],
        )
        st.radio(
            t("lesson.room_pace"),
            ["steps", "own"],
            key=_PACE,
            format_func=lambda pace: t(f"lesson.room_pace_{pace}"),
            horizontal=True,
        )
        st.form_submit_button(t("lesson.room_open"), type="primary", on_click=begin)


def _join(room: Room, lessons: dict[str, Lesson], t: Texts) -> None:
    """A pupil gives a name, and the lesson begins."""
    lesson = lessons[room.lesson]
    st.subheader(lesson.title[t.language], anchor=False)
    st.caption(t("lesson.room_joining", code=room.code))

    def join() -> None:
        if not (name := st.session_state[_NAME].strip()):
            return
        try:
            seat = ROOMS.join(room.code, name)
        except RoomError as wrong:
            st.session_state[_FAILED] = str(wrong)
            return
        step.go(lesson, Progress(lesson.name, 0, room.on, room=str(seat)), 0, t.language)

    with st.form("lesson_room_join", border=False):
        st.text_input(t("lesson.name"), key=_NAME, max_chars=MOST_NAME, help=t("lesson.room_name_help"))
        st.form_submit_button(t("lesson.room_join"), type="primary", on_click=join)


def _follow(room: Room, lessons: dict[str, Lesson], t: Texts) -> None:
    """What the teacher sees, and does."""
    lesson = lessons[room.lesson]
    st.subheader(lesson.title[t.language], anchor=False)
    here = state.current()
    link = share.joined({"room": room.code, "lang": here.lang})
    with st.container(horizontal=True, gap="large", key="lesson_room"):
        with st.container(width="content"):
            st.metric(t("lesson.room_code"), room.code)
            st.code(link, language=None)
        if (picture := share.code(link)) is not None:
            st.image(picture, width=180, alt=t("common.share_code"))

    @st.fragment(run_every=EVERY_SECONDS)
    def live() -> None:
        _class(room, lesson, t)

    live()


def _class(room: Room, lesson: Lesson, t: Texts) -> None:
    pupils, last = list(room.pupils.values()), len(lesson.steps) - 1
    if room.released is not None:
        answered = sum(pupil.has_answered(room.released) for pupil in pupils)
        title = lesson.steps[room.released].title[t.language]
        st.markdown(t("lesson.room_step", n=room.released + 1, all=last + 1, title=quoting(title)))
        if lesson.steps[room.released].question is not None:
            st.progress(answered / max(1, len(pupils)), t("lesson.room_answered", n=answered, all=len(pupils)))
    with st.container(horizontal=True):
        if room.released is not None:
            following = min(last, room.released + 1)
            st.button(
                t("lesson.room_release"),
                key="lesson.room.release",
                type="primary",
                disabled=room.released == last,
                on_click=ROOMS.release,
                args=(room, following),
            )
            st.button(t("lesson.room_free"), key="lesson.room.free", on_click=ROOMS.release, args=(room, None))
        st.download_button(
            t("lesson.room_save"),
            rooms.table(room).encode("utf-8-sig"),
            file_name=f"{room.lesson}-{room.code}.csv",
            mime="text/csv",
            key="lesson.room.save",
            on_click="ignore",
        )
        st.button(t("lesson.room_close"), key="lesson.room.close", type="tertiary", on_click=_close, args=(room,))
    if not pupils:
        st.caption(t("lesson.room_empty"))
        return
    found = [Handed(_result(room, lesson, pupil, t), True) for pupil in pupils]
    at = {t("lesson.room_at"): [pupil.step + 1 for pupil in pupils]}
    table = class_results.who([("", one) for one in found], t, is_of_files=False).assign(**at)
    st.dataframe(table, hide_index=True, key="lesson.room.who")
    class_results.legend(t)
    if any(pupil.rows for pupil in pupils):
        st.markdown(f"**{t('lesson.results_where')}**")
        st.dataframe(class_results.where(found, t), hide_index=True, key="lesson.room.where")
        class_results.words(found, t)


def _close(room: Room) -> None:
    ROOMS.close(room)
    state.update(**state.choose(frame.DESK, (CODE, ""), (KEY, "")))


def _result(room: Room, lesson: Lesson, pupil: rooms.Pupil, t: Texts) -> Result:
    written = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M}"
    answered = tuple(row for _, row in sorted(pupil.rows.items()))
    sentence = lesson.sentence.get(room.on, room.on)
    return Result(
        lesson.name, lesson.title[t.language], lesson.digest, pupil.name, sentence, t.language, written, answered
    )
