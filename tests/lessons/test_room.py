"""A room of a class: who may see and do what, how much it holds, and that nothing of it stays."""

import csv
import io

import pytest

from viz_model.lessons import room as rooms
from viz_model.lessons.answers import Progress, progress
from viz_model.lessons.result import Row
from viz_model.lessons.room import RoomError, Rooms, Seat

RIGHT = Row(1, "Where?", "cat", "", "cat", "right")


def test_a_room_is_followed_with_its_key_and_joined_without() -> None:
    every = Rooms()
    room = every.open("norms", "en", by_steps=True)
    assert every.find(room.code, room.key) is room is every.find(room.code)
    for code, key in ((room.code, "wrong-key"), ("ZZZZZ", None), ("ZZZZZ", room.key)):
        with pytest.raises(RoomError, match="room_none"):
            every.find(code, key)
    seat = every.join(room.code, "  Ada \n Lovelace ")
    every.hear(seat, 0, RIGHT._replace(outcome="open", first=""))
    assert room.pupils[seat.token].name == "Ada Lovelace" and not room.pupils[seat.token].has_answered(0)
    every.hear(seat, 0, RIGHT)
    assert room.pupils[seat.token].has_answered(0)
    every.hear(every.join(room.code, "=Eve"), 2, RIGHT)
    lines = [line[:2] for line in csv.reader(io.StringIO(rooms.table(room)))]
    assert lines[1:] == [["Ada Lovelace", "1"], ["'=Eve", "3"]], "no formula"
    with pytest.raises(RoomError, match="room_none"):
        every.hear(Seat(room.code, "stranger"), 0, RIGHT)
    every.close(room)
    with pytest.raises(RoomError, match="room_none"):
        every.hear(seat, 1, RIGHT)


def test_rooms_and_places_in_them_are_few() -> None:
    every = Rooms()
    room = every.open("norms", "en", by_steps=True)
    for n in range(rooms.MOST_PUPILS):
        every.join(room.code, f"pupil {n}")
    with pytest.raises(RoomError, match="room_full"):
        every.join(room.code, "one more")
    for _ in range(rooms.MOST_ROOMS - 1):
        every.open("norms", "en", by_steps=True)
    with pytest.raises(RoomError, match="room_many"):
        every.open("norms", "en", by_steps=True)


def test_a_room_that_nobody_is_in_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("viz_model.lessons.room.time.monotonic", lambda: now[0])
    every = Rooms()
    idle, used = (every.open("norms", "en", by_steps=True) for _ in range(2))
    while now[0] < rooms.LASTS - rooms.IDLE:
        now[0] += 0.9 * rooms.IDLE
        every.find(used.code)
    with pytest.raises(RoomError):
        every.find(idle.code)
    now[0] = rooms.LASTS + 1
    with pytest.raises(RoomError):
        every.find(used.code)


def test_pupils_open_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    every = Rooms()
    monkeypatch.setattr(rooms, "ROOMS", every)
    room = every.open("norms", "en", by_steps=True)
    at = Progress("norms", 3, room=str(every.join(room.code, "Ada")))
    assert progress(at.query()) == at
    assert rooms.allowed(at) == 0 and rooms.may_open(at, 0) and not rooms.may_open(at, 1)
    every.release(room, 2)
    assert rooms.allowed(at) == 2 and rooms.may_open(at, 2) and not rooms.may_open(at, 3)
    every.release(room, None)
    assert rooms.allowed(at) == 3
    every.release(room, 0)
    every.close(room)
    assert rooms.allowed(at) == 3 and rooms.may_open(at, 4), "a closed room holds nobody back"
    for wrong in ("A", "ABCDE", "abcde.xyzw", f"ABCDE.{'x' * 50}", "ABCDE.<b>x"):
        with pytest.raises(ValueError, match="no such place"):
            progress({**at.query(), "lesson.room": wrong})
