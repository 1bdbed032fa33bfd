"""A story in chapters: a chapter is a picture and beats, and the beat is one more axis of what is selected.

What changes from beat to beat is a table over "beat", as what differs by token is one over "token". The browser
(``frontend/src/walk.js``) mixes the entries of two places, so that one mechanism moves a mark from beat to beat and
from token to token. Beats count from 1: entry 0 is how a chapter finds its picture, which beat 1 then changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from viz_model.drawing.scene import Arrays, value
from viz_model.drawing.tables import Table, by
from viz_model.island import prose
from viz_model.island.prose import Line

Length: TypeAlias = Any
"""Pixels, or (share of the picture's width, pixels), or a table of either; a height may be "square"."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something on the picture of a chapter.

    Attributes:
        x, y, width, height: :data:`Length`.
        since, until: the beats in which it stands, from ``since`` to the one before ``until``.
        part: the object that it belongs to: it has its color, and a beat or a word lights it.
        when: in which part of a motion it moves, from 0 to 1, so that rows follow each other.
        act: what a click selects, by axis.
        label: what a click does, or what is drawn, for who does not see it.
        present: whether it stands there at all (a table).
    """

    x: Length = 0
    y: Length = 0
    width: Length = 0
    height: Length = 0
    since: int = 0
    until: int = 99
    part: str = ""
    when: tuple[float, float] = (0, 1)
    act: Mapping[str, Any] | None = None
    label: Any = ""
    present: Any = True


@dataclass(frozen=True, kw_only=True)
class Box(Mark):
    """A bar, a frame, a hatched place, a point, or a cover in the color of the page."""

    look: Literal["fill", "frame", "hatch", "cover", "dot", "line"] = "fill"


@dataclass(frozen=True, kw_only=True)
class Text(Mark):
    """Words, or a number that is written as ``form`` says (:func:`viz_model.drawing.digits.written`)."""

    text: Any
    form: str = ""
    anchor: Literal["start", "middle", "end"] = "start"
    look: Literal["", "bold", "small"] = ""


@dataclass(frozen=True, kw_only=True)
class Cells(Mark):
    """Numbers as cells in two colors around 0, as cells of one color, or as bars up and down; ``top`` is full color."""

    values: Any
    look: Literal["signed", "single", "bars"] = "signed"
    top: Any = 1.0


@dataclass(frozen=True, kw_only=True)
class Toy(Mark):
    """What is tried by hand: ``toy`` names a function of ``frontend/src/toys.js``, which is given ``data``."""

    toy: str
    data: Mapping[str, Any]


class Guess(NamedTuple):
    """A question that is asked before a beat shows the answer: options [N] and the right one's number may be tables."""

    asked: Line
    options: Any
    right: Any


class Beat(NamedTuple):
    """What is said, and the parts of the picture that light up, separated by blanks; without any, none is dimmed."""

    said: Line
    lights: str = ""
    guess: Guess | None = None


class Chapter(NamedTuple):
    """A chapter as it is sent: ``opens`` is the page on which there is more, by its name and what it is called."""

    name: str
    title: str
    beats: Sequence[Beat]
    marks: Sequence[Mark]
    opens: tuple[str, str] | None = None


class Story(NamedTuple):
    """All chapters.

    Attributes:
        run: tells one run, and where in it, from another.
        sizes: of the axes that are the story's own.
        at: for which layer and head its tables are made; another one is asked for.
        follow: axes that follow another one, each a table: ``{"key": ("token", table)}``.
        words: labels of its controls.
        ways: where one goes on at the end: a page, what of the view changes, and a label.
        recorded: what the model writes in a file, by the edits and the temperature that it is asked for.
    """

    run: str
    chapters: Sequence[Chapter]
    sizes: Mapping[str, int]
    at: Mapping[str, int]
    follow: Mapping[str, tuple[str, Any]]
    words: Mapping[str, str]
    ways: Sequence[tuple[str, Mapping[str, Any], str]]
    recorded: Mapping[str, Any] | None = None


def ends(count: int, *entries: tuple[int, Any], axes: str = "") -> Any:
    """A table over beats, from the beats on at which it changes: ``ends(4, (0, a), (2, b))`` is a, a, b, b, b, and so
    for all that follow; ``axes`` are those that every entry has.
    """
    at = [max(n for n, (since, _) in enumerate(entries) if since <= beat) for beat in range(count + 1)]
    values = [entries[n][1] for n in at]
    return by(f"beat {axes}".strip(), np.stack(np.broadcast_arrays(*values)) if axes else values)


def plain(story: Story, arrays: Arrays) -> dict[str, Any]:
    """For the browser."""
    follow = {axis: [of, value(table, arrays)] for axis, (of, table) in story.follow.items()}
    chapters = [_chapter(chapter, arrays) for chapter in story.chapters]
    return {"kind": "walk", **story._asdict(), "follow": follow, "chapters": chapters}


def _chapter(chapter: Chapter, arrays: Arrays) -> dict[str, Any]:
    beats = [_beat(beat, arrays) for beat in chapter.beats]
    return {**chapter._asdict(), "beats": beats, "marks": [_mark(mark, arrays) for mark in chapter.marks]}


def _beat(beat: Beat, arrays: Arrays) -> dict[str, Any]:
    made = {**prose.said(beat.said.words, arrays), "lights": beat.lights.split(), "guess": None}
    if beat.guess is not None:
        options, right = value(beat.guess.options, arrays), value(beat.guess.right, arrays)
        made["guess"] = {"asked": prose.said(beat.guess.asked.words, arrays), "options": options, "right": right}
    return made


def _mark(mark: Mark, arrays: Arrays) -> dict[str, Any]:
    """What differs from the default. What is only colored goes in one byte a number."""
    found: dict[str, Any] = {"kind": type(mark).__name__.lower()}
    for each in fields(mark):
        given = getattr(mark, each.name)
        given = given.item() if isinstance(given, np.generic) else given
        if isinstance(given, Table | np.ndarray) or given != each.default:
            found[each.name] = _plain(given, arrays, each.name == "values")
    return found


def _plain(given: Any, arrays: Arrays, is_coarse: bool) -> Any:
    if isinstance(given, Mapping):
        return {name: _plain(one, arrays, False) for name, one in given.items()}
    return value(given, arrays, is_coarse=is_coarse)
