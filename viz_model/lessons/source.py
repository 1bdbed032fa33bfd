"""Where in a TOML file something stands: the lines that a message names."""

import re
import tomllib
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers of entries where a list of tables is passed."""

_TABLE = re.compile(r"\s*\[\[?\s*([\w.\-\s\"]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*([\w\-]+(?:\s*\.\s*[\w\-]+)*)\s*=")
_SEVERAL_LINES = ('"""', "'''")
_LAST = re.compile(r"line (\d+)")


class LessonError(ValueError):
    """A lesson that is wrong: why, under which key, and in which line of which file; 0 is the file as a whole."""

    def __init__(self, file: str, line: int, why: str, key: str = "") -> None:
        self.reason = f"{key}: {why}" if key else why
        super().__init__(f"{file}, line {line}: {self.reason}" if line else f"{file}: {self.reason}")
        self.file, self.line, self.why, self.key = file, line, why, key


class Source:
    """A TOML file's text and what it says.

    Raises:
        LessonError: it is no TOML.
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        try:
            self.said: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = _LAST.search(str(error))
            line = int(found[1]) if found else _unclosed(text)
            raise LessonError(file, line, f"not TOML: {error}") from None
        self._lines = _lines(text)

    def line(self, path: Path) -> int:
        """The line of a key, or where it has none of its own, of the table that it stands in; from 1."""
        for end in range(len(path), 0, -1):
            if path[:end] in self._lines:
                return self._lines[path[:end]]
        return 1

    def error(self, path: Path, why: str, key: str = "") -> LessonError:
        """An error at the line of a key, which it names where one is given."""
        return LessonError(self.file, self.line(path), why, key)


def _unclosed(text: str) -> int:
    """The line in which a text of several lines begins that has no end; else the last line."""
    begun, last = 0, 1
    for last, line in enumerate(text.splitlines(), 1):
        if any(line.count(mark) % 2 for mark in _SEVERAL_LINES):
            begun = 0 if begun else last
    return begun or last


def _lines(text: str) -> dict[Path, int]:
    found: dict[Path, int] = {}
    table: Path = ()
    entries: dict[Path, int] = {}
    quotes = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quotes:
            quotes = "" if line.count(quotes) % 2 else quotes
            continue
        if header := _TABLE.fullmatch(line):
            table = _entered(tuple(part.strip(' "') for part in header[1].split(".")), "[[" in line, entries)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            path = (*table, *(part.strip() for part in key[1].split(".")))
            for end in range(len(table) + 1, len(path) + 1):
                found.setdefault(path[:end], number)
            quotes = next((mark for mark in _SEVERAL_LINES if line.count(mark) % 2), "")
    return found


def _entered(name: tuple[str, ...], is_entry: bool, entries: dict[Path, int]) -> Path:
    """The path of a table's header: a list of tables is entered at its last entry."""
    path: Path = ()
    for n, part in enumerate(name):
        path = (*path, part)
        if is_entry and n == len(name) - 1:
            entries[path] = entries.get(path, -1) + 1
        if path in entries:
            path = (*path, entries[path])
    return path
