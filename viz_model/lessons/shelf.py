"""The lessons that are on offer: those that come with the package, and a teacher's own folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from viz_model.lessons.lesson import Lesson
from viz_model.lessons.read import Offer, read
from viz_model.lessons.source import LessonError

VARIABLE = "VIZ_MODEL_LESSONS"
"""Folders of lessons, separated as in ``PATH``."""
OWN = Path(__file__).parent
ORDER = ("first_walk", "attention_by_hand", "norms", "what_breaks_it", "translation")
MOST_FILES = 200


class Shelf(NamedTuple):
    """Lessons by name, and what was refused."""

    lessons: dict[str, Lesson]
    refused: tuple[LessonError, ...]


def files() -> tuple[Path, ...]:
    """The files of all lessons; one of the teacher's own stands in for another of its name."""
    own = {path.stem: path for path in OWN.glob("*.toml")}
    found = {name: own[name] for name in ORDER} | own
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        found |= {path.stem: path for path in sorted(Path(entry).glob("*.toml"))[:MOST_FILES]}
    return tuple(found.values())


def shelf(offer: Offer) -> Shelf:
    """All lessons, read; those that are wrong are refused, each with the line and the reason."""
    lessons: dict[str, Lesson] = {}
    refused: list[LessonError] = []
    for path in files():
        try:
            lessons[path.stem] = read(path.stem, path.read_text(encoding="utf-8"), offer)
        except LessonError as wrong:
            refused.append(LessonError(path.name, wrong.line, wrong.why, wrong.key))
        except (OSError, UnicodeDecodeError) as wrong:
            refused.append(LessonError(path.name, 1, f"cannot be read: {wrong}"))
    return Shelf(lessons, tuple(refused))
