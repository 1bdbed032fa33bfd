"""A room: pupils who take a lesson at the same time, and the teacher who sees where they are and what they answered.

A room is kept in the memory of this process and nowhere else. It is gone when it is closed, when nobody has been in it
for an hour, or when the process ends; what a pupil has answered stands in the pupil's own address and outlives it.
Codes are short, so that they can be read off a board; who opens a room gets a key besides, without which nobody sees
it or closes it.
"""

import os
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from viz_model.lessons.answers import Progress
from viz_model.lessons.result import COLUMNS, MOST_NAME, Row, csv_of, safe

VARIABLE = "VIZ_MODEL_ROOMS"
"""The environment variable that allows rooms: they are opened by whoever finds the page."""
MOST_ROOMS, MOST_PUPILS = 20, 80
IDLE, LASTS = 3600.0, 6 * 3600.0
"""Seconds after which a room that nobody is in is closed, and after which any is."""
CODE = "[A-HJ-NP-Z2-9]{5}"
"""Of a room: without letters and digits that are taken for one another."""
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class RoomError(ValueError):
    """There is no such room, or no place in it; its message is a key of the lesson's texts."""


@dataclass
class Pupil:
    """Who has joined: the step that is open, from 0 on, and how each question came out, by its step."""

    name: str
    step: int = -1
    rows: dict[int, Row] = field(default_factory=dict)

    def has_answered(self, step: int) -> bool:
        return step in self.rows and self.rows[step].outcome != "open"


@dataclass
class Room:
    """A class in a lesson.

    Attributes:
        key: the teacher's.
        on: the language whose sentence is run.
        released: the last step, from 0 on, that pupils may open; None where each goes at their own pace.
        pupils: by a token that only the pupil has.
    """

    code: str
    key: str
    lesson: str
    on: str
    released: int | None
    opened: float
    touched: float
    pupils: dict[str, Pupil] = field(default_factory=dict)


class Seat(NamedTuple):
    """A pupil's place: what the address holds of it, ``CODE.token``."""

    code: str
    token: str

    @classmethod
    def read(cls, written: str) -> "Seat":
        code, _, token = written.partition(".")
        return cls(code, token)

    def __str__(self) -> str:
        return f"{self.code}.{self.token}"


class Rooms:
    """All rooms of this process; any thread may ask."""

    def __init__(self) -> None:
        self._lock, self._rooms = threading.Lock(), dict[str, Room]()

    def open(self, lesson: str, on: str, *, by_steps: bool) -> Room:
        """A new room; ``by_steps``: the teacher releases one step after the other.

        Raises:
            RoomError: as many rooms are open as there may be.
        """
        with self._lock:
            self._sweep()
            if len(self._rooms) >= MOST_ROOMS:
                raise RoomError("room_many")
            now = time.monotonic()
            code = next(code for code in iter(_code, "") if code not in self._rooms)
            room = Room(code, secrets.token_urlsafe(12), lesson, on, 0 if by_steps else None, now, now)
            self._rooms[code] = room
            return room

    def find(self, code: str, key: str | None = None) -> Room:
        """The room of a code; with ``key`` for the teacher.

        Raises:
            RoomError: there is none, or it has another key.
        """
        with self._lock:
            self._sweep()
            room = self._rooms.get(code)
            if room is None or (key is not None and not secrets.compare_digest(room.key, key)):
                raise RoomError("room_none")
            room.touched = time.monotonic()
            return room

    def join(self, code: str, name: str) -> Seat:
        """A seat in a room, under a name that need not be the only one of its kind.

        Raises:
            RoomError: there is no such room, or it is full.
        """
        room, token = self.find(code), secrets.token_urlsafe(9)
        with self._lock:
            if len(room.pupils) >= MOST_PUPILS:
                raise RoomError("room_full")
            room.pupils[token] = Pupil(" ".join(name.split())[:MOST_NAME])
        return Seat(code, token)

    def hear(self, seat: Seat, step: int, row: Row | None) -> Room:
        """A pupil has a step open, and its question came out so.

        Raises:
            RoomError: the room is closed, or the pupil was never in it.
        """
        room = self.find(seat.code)
        with self._lock:
            pupil = room.pupils.get(seat.token)
            if pupil is None:
                raise RoomError("room_none")
            pupil.step = step
            if row is not None and (row.first or row.outcome != "open"):
                pupil.rows[step] = row
        return room

    def release(self, room: Room, step: int | None) -> None:
        """Let pupils open steps up to this one; None: all, each at their own pace."""
        with self._lock:
            room.released = step

    def close(self, room: Room) -> None:
        with self._lock:
            self._rooms.pop(room.code, None)

    def _sweep(self) -> None:
        now = time.monotonic()
        for room in list(self._rooms.values()):
            if now - room.touched > IDLE or now - room.opened > LASTS:
                del self._rooms[room.code]


ROOMS = Rooms()


def are_allowed() -> bool:
    return os.environ.get(VARIABLE, "") not in ("", "0")


def may_open(progress: Progress, step: int) -> bool:
    """Whether a pupil may open a step now; outside of a room, or where it is closed, always."""
    last = _last(progress)
    return last is None or step <= last


def allowed(progress: Progress) -> int:
    """The step of a lesson that a pupil has open, or the last one that the room lets a pupil open."""
    last = _last(progress)
    return progress.step if last is None else min(progress.step, last)


def _last(progress: Progress) -> int | None:
    try:
        return ROOMS.find(Seat.read(progress.room).code).released if progress.room else None
    except RoomError:
        return None


def table(room: Room) -> str:
    """All answers as CSV: a line for each pupil and question."""
    lines: list[tuple[object, ...]] = [("name", *COLUMNS)]
    for pupil in list(room.pupils.values()):
        lines += [(safe(pupil.name), step + 1, *map(safe, row[1:])) for step, row in sorted(pupil.rows.items())]
    return csv_of(lines)


def _code() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(5))
