"""The first stops: what one looks at, and the pieces that a text is cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from viz_model.drawing.scene import Mark, Rect, Text
from viz_model.topics.walk.pictures.stage import TOP, Guess, Shot, Stage, at, bars, heading, wide

_WRAP = 330
"""Pixels of a line of the sentence: it fits a phone."""


class Opening(NamedTuple):
    """The sentence, and what comes next, where the model says that.

    Attributes:
        pieces: [n] the letters of each token, with their spaces.
        is_gap: whether the guesses are for the token's own place, and not for what comes after it.
        rare: a word that the vocabulary does not hold whole, in its pieces.
    """

    guesses: tuple[Guess, ...]
    position: int
    pieces: tuple[str, ...]
    rare: tuple[str, ...]
    is_gap: bool = False


def look(stage: Stage, view: Opening) -> list[Shot]:
    say, still = stage.say, stage.chips()
    if not view.guesses:
        return [Shot(say("look_gap" if view.is_gap else "look_text"), still)]
    curtain: list[Mark] = [
        Rect(id="curtain", x=at(0.12), y=TOP, width=wide(0.76), height=176, fill="grid", opacity=0.5, radius=10),
        Text(id="curtain.sign", text="?", x=at(0.5), y=TOP + 88, size=56, anchor="middle", fill="muted"),
    ]
    title = say("gap" if view.is_gap else "bars", token=stage.name)
    told = bars(view.guesses, title=title, left=0.12, position=view.position)
    return [
        Shot(say("look_gap" if view.is_gap else "look_text"), [*still, *curtain]),
        Shot(say("look_guess"), [*still, *told]),
    ]


def pieces(stage: Stage, view: Opening) -> list[Shot]:
    say, text = stage.say, _written(view.pieces)
    marks = stage.chips()
    words = [mark for mark in marks if isinstance(mark, Text)]
    line: list[Mark] = [
        Text(id=word.id, text=piece, x=x, y=y, size=15) for word, (piece, x, y) in zip(words, text, strict=True)
    ]
    numbered = stage.chips(ids=True)
    shots = [Shot(say("pieces_text"), line), Shot(say("pieces_cut"), marks), Shot(say("pieces_ids"), numbered)]
    if len(view.rare) > 1:
        told = say("pieces_rare", word="".join(view.rare).strip(), n=len(view.rare))
        shots.append(Shot(told, [*numbered, *_rare(stage, view.rare)]))
    return shots


def _written(pieces: Sequence[str]) -> list[tuple[str, Any, float]]:
    """Pieces one after another, in lines: each with its place."""
    placed, x, y = [], 4.0, TOP + 30.0
    for piece in pieces:
        length = sum(map(_across, piece))
        if x + length > _WRAP and x > 4:
            x, y, piece = 4.0, y + 26, piece.lstrip()
        indent = _across(" ") if piece.startswith(" ") else 0.0
        placed.append((piece.strip() or piece, x + indent, y))
        x += length
    return placed


def _across(letter: str) -> float:
    """About how wide a letter is, in pixels."""
    if letter in "ijlt.,:;'!|fr ":
        return 4.6
    if letter in "mwMW":
        return 12.6
    return 15.5 if ord(letter) >= 0x2E80 else 9.6 if letter.isupper() else 8.2


def _rare(stage: Stage, parts: Sequence[str]) -> list[Mark]:
    marks: list[Mark] = [heading("rare", stage.say("rare"), at(0.1))]
    for n, part in enumerate(parts):
        y = TOP + 34.0 * n
        marks += [
            Rect(id=f"rare.{n}", x=at(0.1), y=y, width=110, height=28, fill="accent", opacity=0.14, radius=4),
            Text(id=f"rare.word.{n}", text=part, x=at(0.1, 10), y=y + 14, size=14),
        ]
    return marks
