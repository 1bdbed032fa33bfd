"""A pupil's seat in a room: what the room is told, and waiting for the next step."""

import streamlit as st

from viz_model.app.lessons import shelf
from viz_model.lessons import room as rooms
from viz_model.lessons.answers import Progress
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.room import ROOMS, RoomError, Seat
from viz_model.texts import Texts

EVERY_SECONDS = 2.0


def report(lesson: Lesson, progress: Progress, t: Texts) -> None:
    """Tell the room which step a pupil has open, and how its question stands."""
    if not progress.room:
        return
    row = shelf.row(lesson, progress, progress.step, t.language)
    try:
        ROOMS.hear(Seat.read(progress.room), progress.step, row)
    except RoomError:
        st.caption(t("lesson.room_closed"))


def wait(progress: Progress, t: Texts) -> None:
    """Until the next step is released: then the page is drawn again."""

    @st.fragment(run_every=EVERY_SECONDS)
    def look() -> None:
        if rooms.may_open(progress, progress.step + 1):
            st.rerun()
        st.caption(t("lesson.room_wait"))

    look()
