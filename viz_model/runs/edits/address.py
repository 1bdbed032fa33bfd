"""Edits as text for an address, and back: ``head-off.1.3~skip.2.ffn``.

Edits are joined by ``~`` and their fields, in the order in which the class names them, by ``.``.
An empty field is the default, and defaults at the end are left out. All of it are characters that
stand in an address as they are: a number writes ``p`` for its point and ``m`` for minus, a text
``_`` for a space and ``-4ECE-`` for a character by its code point, a list ``-`` between numbers
and ``_`` between rows. Reading compares every field with its annotation; nothing is evaluated.
"""

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Sequence
from typing import Any

from viz_model.runs.edits.base import Edit
from viz_model.runs.edits.inputs import FlipMask, NoMask, ShuffleTokens
from viz_model.runs.edits.structure import ExpertOff, ExpertOnly, NoNorm, NoPosition, NoResidual, NoScale
from viz_model.runs.edits.values import AblateHead, Change, FixPattern, PatchResidual, SetNeuron, Skip

MOST_EDITS = 32
MOST_CHARACTERS = 4000

EDITS: tuple[type[Edit], ...] = (
    *(AblateHead, FixPattern, SetNeuron, Skip, PatchResidual),
    *(ExpertOff, ExpertOnly),
    *(FlipMask, ShuffleTokens),
    *(NoScale, NoPosition, NoMask, NoResidual, NoNorm),
)
"""Every edit there is."""

_BY_TAG = {edit.tag: edit for edit in EDITS}
_NUMBER = re.compile(r"m?\d{1,20}(p\d{1,20})?(em?\d{1,3})?", re.ASCII)
_PIECE = re.compile(r"([A-Za-z0-9]+)|(_)|-([0-9A-F]{1,6})-")


def write(edits: Sequence[Edit]) -> str:
    """Edits as text of letters, digits and ``.~_-``.

    Raises:
        ValueError: there are more than 32, or the text is longer than 4,000 characters.
    """
    text = "~".join(_write(edit) for edit in edits)
    _check_size(text, len(edits))
    return text


def parse(text: str) -> tuple[Edit, ...]:
    """The inverse of :func:`write`. No model is needed: whether it has such places is seen when it runs.

    Raises:
        ValueError: the text describes no edits; the message names the part.
    """
    parts = text.split("~") if text else []
    _check_size(text, len(parts))
    return tuple(_parse(part) for part in parts)


def _check_size(text: str, n_edits: int) -> None:
    if n_edits > MOST_EDITS:
        raise ValueError(f"edits: expected at most {MOST_EDITS}, got {n_edits}")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"edits: expected at most {MOST_CHARACTERS} characters, got {len(text)}")


def _write(edit: Edit) -> str:
    if isinstance(edit, Change):
        return f"{edit.tag}.{edit.at}"  # for who reads it: no address can say what a function does
    words = [edit.tag]
    for field, codec in _codecs(type(edit)):
        value = getattr(edit, field.name)
        words.append("" if value is None or value == field.default else codec.write(value))
    while not words[-1]:
        words.pop()
    return ".".join(words)


def _parse(part: str) -> Edit:
    tag, *words = part.split(".")
    written = repr(part)  # in which a rare character takes ten
    shown = written if len(written) <= 62 else f"{written[:60]}…'"
    if tag == Change.tag:
        raise ValueError(f"edits: {shown}: what a function does cannot be written in an address")
    if tag not in _BY_TAG:
        raise ValueError(f"edits: {shown}: no such edit, there are {', '.join(_BY_TAG)}")
    codecs = _codecs(_BY_TAG[tag])
    if len(words) > len(codecs):
        names = ", ".join(field.name for field, _ in codecs) or "no fields"
        raise ValueError(f"edits: {shown}: expected at most {names}")
    values = {}
    for (field, codec), word in zip(codecs, words, strict=False):
        if word:
            try:
                values[field.name] = codec.read(word)
            except ValueError:
                raise ValueError(f"edits: {shown}: {field.name}: expected {codec.expected}") from None
    missing = [f.name for f, _ in codecs if f.default is dataclasses.MISSING and f.name not in values]
    if missing:
        raise ValueError(f"edits: {shown}: {missing[0]}: missing")
    try:
        return _BY_TAG[tag](**values)
    except ValueError as wrong:
        raise ValueError(f"edits: {shown}: {wrong}") from None


class _Codec(typing.NamedTuple):
    """One field: value to word, word to value (ValueError where it is none), and what a word should be."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    expected: str


@functools.cache
def _codecs(edit: type[Edit]) -> tuple[tuple[dataclasses.Field[Any], _Codec], ...]:
    hints = typing.get_type_hints(edit, include_extras=True)
    return tuple((field, _codec(hints[field.name])) for field in dataclasses.fields(edit))


def _codec(hint: Any) -> _Codec:
    """The codec of an annotation, by the one member of its union that is not None."""
    if typing.get_origin(hint) is typing.Annotated:
        return _Codec(lambda site: site.replace(".", "_"), _read_site, "a site, with _ for each point")
    options = [option for option in typing.get_args(hint) if option is not type(None)]
    if typing.get_origin(hint) is typing.Literal:
        return _choice(typing.get_args(hint))
    if hint in _CODECS:
        return _CODECS[hint]
    if len(options) == 1:
        return _codec(options[0])
    words, rows = (_codec(option) for option in options)
    return _Codec(
        lambda value: (words if isinstance(value, str) else rows).write(value),
        lambda word: (words if word[0].isalpha() else rows).read(word),
        f"{words.expected}, or {rows.expected}",
    )


def _choice(choices: tuple[str, ...]) -> _Codec:
    def read(word: str) -> str:
        if word not in choices:
            raise ValueError
        return word

    return _Codec(str, read, f"one of {', '.join(choices)}")


def _write_number(number: float) -> str:
    text = f"{number:d}" if isinstance(number, int) else repr(number).removesuffix(".0")
    return text.replace(".", "p").replace("-", "m").replace("+", "")


def _read_float(word: str) -> float:
    if not _NUMBER.fullmatch(word):
        raise ValueError
    return float(word.replace("p", ".").replace("m", "-"))


def _read_whole(word: str) -> int:
    if not re.fullmatch(r"m?\d{1,19}", word, re.ASCII):
        raise ValueError
    return int(word.replace("m", "-"))


def _write_text(text: str) -> str:
    def piece(character: str) -> str:
        if character == " ":
            return "_"
        is_plain = character.isascii() and character.isalnum()
        return character if is_plain else f"-{ord(character):X}-"

    # An empty word would be the default.
    return "".join(map(piece, text)) or "--"


def _read_text(word: str) -> str:
    if word == "--":
        return ""
    found, end = [], 0
    for piece in _PIECE.finditer(word):
        if piece.start() != end:
            raise ValueError
        plain, space, code = piece.groups()
        found.append(plain or (" " if space else chr(int(code, 16))))
        end = piece.end()
    if end != len(word):
        raise ValueError
    return "".join(found)


def _read_site(word: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]{1,80}", word, re.ASCII):
        raise ValueError
    return word.replace("_", ".")


_CODECS: dict[Any, _Codec] = {
    int: _Codec(_write_number, _read_whole, "a whole number"),
    float: _Codec(_write_number, _read_float, "a number, with p for its point and m for minus"),
    str: _Codec(_write_text, _read_text, "a text, with _ for a space and -4ECE- for a character"),
    tuple[int, ...]: _Codec(
        lambda numbers: "-".join(map(_write_number, numbers)),
        lambda word: tuple(map(_read_whole, word.split("-"))),
        "whole numbers with - between them",
    ),
    tuple[tuple[float, ...], ...]: _Codec(
        lambda rows: "_".join("-".join(map(_write_number, row)) for row in rows),
        lambda word: tuple(tuple(map(_read_float, row.split("-"))) for row in word.split("_")),
        "rows of numbers with - between numbers and _ between rows",
    ),
}
