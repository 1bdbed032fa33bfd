"""The lessons that are on offer: those that come with the package, and a teacher's own folder."""

import codecs
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


class Files(NamedTuple):
    """The files of all lessons by name, and what of a teacher's own is not read: folders and files, each with why."""

    paths: dict[str, Path]
    refused: tuple[LessonError, ...]


def files() -> Files:
    """The files of all lessons. One of a teacher's own stands in for one of the package that has its name."""
    package = {path.stem: path for path in OWN.glob("*.toml")}
    own: dict[str, Path] = {}
    refused: list[LessonError] = []
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        if not Path(entry).is_dir():
            refused.append(LessonError(entry, 0, "no such folder"))
        for path in sorted(Path(entry).glob("*.toml"))[:MOST_FILES]:
            first = own.setdefault(path.stem, path)
            if first != path:
                refused.append(LessonError(str(path), 0, f"another lesson has this name: {first}"))
    return Files({name: package[name] for name in ORDER} | package | own, tuple(refused))


def shelf(offer: Offer) -> Shelf:
    """All lessons, read; those that are wrong are refused, each with the line and the reason."""
    found = files()
    lessons: dict[str, Lesson] = {}
    refused = list(found.refused)
    for name, path in found.paths.items():
        try:
            lessons[name] = read(name, text_of(path.read_bytes()), offer)
        except LessonError as wrong:
            refused.append(LessonError(path.name, wrong.line, wrong.why, wrong.key))
        except (OSError, UnicodeDecodeError) as wrong:
            refused.append(LessonError(path.name, 0, f"cannot be read: {wrong}"))
    return Shelf(lessons, tuple(refused))


def text_of(content: bytes) -> str:
    """The text of a file, without the mark that some editors put before it: UTF-8, UTF-16 where a mark says so, or
    GB 18030, in which spreadsheets and editors of Chinese Windows write.

    Raises:
        UnicodeDecodeError: it is none of these.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        try:
            return content.decode("gb18030")
        except UnicodeDecodeError:
            raise wrong from None
