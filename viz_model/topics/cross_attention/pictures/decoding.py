"""Decoding step by step: what is read, what is expected, what comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from viz_model.drawing import axes, bars, boxes, curves, sheet, theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.spans import around
from viz_model.drawing.writing import hover, note, percent
from viz_model.tokenizers.tokenizer import Token
from viz_model.topics.cross_attention import numbers as cross

COLUMNS = ("reads", "comes", "predicts", "says")
_READS, _COMES, _PREDICTS, _SAYS = range(len(COLUMNS))


class DecodingView(NamedTuple):
    """A window of decoding steps around the newest; ``first`` is its first step, ``newest`` counts in the window.

    ``own`` are the tokens the model says by itself, None where it has ended before.
    """

    steps: tuple[cross.Step, ...]
    own: tuple[Token | None, ...]
    first: int
    newest: int

    @classmethod
    def of(cls, steps: Sequence[cross.Step], own: Sequence[Token], newest: int, most: int = 12) -> DecodingView:
        shown = around(newest, len(steps), most)
        filled = [own[i] if i < len(own) else None for i in range(shown.start, shown.stop)]
        return cls(tuple(steps[shown]), tuple(filled), shown.start, newest - shown.start)


def draw_decoding(view: DecodingView, names: Mapping[str, str]) -> sheet.Sheet:
    """One row a step: what the decoder reads, what it predicts, what the target has next, what the model would say.

    A line joins each token of the target to its place as the next step's input: the shift by one.
    """
    figure, size = sheet.Sheet(), len(view.steps)
    places: list[tuple[int, int]] = []
    hovers: list[str] = []

    def cell(column: int, row: int, token: Token, extra: str, colour: str, alpha: float, hit: bool) -> None:
        later = row > view.newest
        shade, edge = theme.rgba(colour, alpha * (0.5 if later else 1.0)), theme.rgba(colour, 1.0 if hit else 0.0)
        across, up = (column - 0.44, column + 0.44), (row - 0.36, row + 0.36)
        boxes.rectangle(figure, across, up, line={"color": edge, "width": 1.5}, fillcolor=shade)
        note(figure, theme.cut(token.label, 10), column, row, colour=theme.INK, opacity=0.55 if later else 1.0)
        places.append((column, row))
        hovers.append(hover(names[COLUMNS[column]], token.label, *([("", extra)] if extra else [])))

    for row, (step, own) in enumerate(zip(view.steps, view.own, strict=True)):
        position, (guess, chance) = view.first + row, step.guesses[0]
        note(figure, str(position), -0.72, row, size=theme.SMALL, colour=theme.INK)
        cell(_READS, row, step.reads, "", theme.token_colour(position), 0.2, False)
        cell(_PREDICTS, row, guess, percent(chance), theme.ROLES["output"], 0.12 + 0.5 * chance, step.hit)
        if step.came is not None:
            colour, odds = theme.token_colour(position + 1), f"{percent(step.probability)} · #{step.rank}"
            cell(_COMES, row, step.came, odds, colour, 0.2, step.hit)
            if row + 1 < size:
                boxes.line(figure, (_COMES - 0.44, row), (_READS + 0.44, row + 1), color=colour)
        if own is not None:
            same = step.came is not None and own.id == step.came.id
            cell(_SAYS, row, own, "", theme.ROLES["residual"], 0.2, same)
    for column, key in enumerate(COLUMNS):
        note(figure, names[key], column, -0.75, bold=True, colour=theme.INK)
    newest, look = (view.newest - 0.46, view.newest + 0.46), {"color": theme.HIGHLIGHT, "width": 2}
    boxes.rectangle(figure, (-0.5, 3.5), newest, line=look, fillcolor=theme.rgba(theme.HIGHLIGHT, 0.0))
    columns, rows = zip(*places, strict=True)
    curves.points(figure, columns, rows, "rgba(0,0,0,0)", size=24, hover=hovers)
    axes.hidden(figure, x=(-0.95, 3.55), y=(size - 0.45, -1.15))
    return theme.finished(figure, height=58 + 32 * size, margin={"l": 2, "r": 2})


def draw_guesses(step: cross.Step, position: int) -> sheet.Sheet:
    """The most probable tokens after ``position``; the one that the target has next is outlined."""
    labels, shares = [token.label for token, _ in step.guesses], [p for _, p in step.guesses]
    came = [step.came is not None and token.id == step.came.id for token, _ in step.guesses]
    outline = {"color": theme.INK, "width": [2 if hit else 0 for hit in came]}
    cells = Cells("probs", (position, ROW), rows=tuple(token.id for token, _ in step.guesses))
    hovers = [f"{theme.plain(label)}<br><b>{share:.4%}</b>" for label, share in zip(labels, shares, strict=True)]
    figure = sheet.Sheet()
    bars.across(figure, shares, {"color": theme.ROLES["output"], "line": outline}, cells=cells, hover=hovers)
    bars.ends(figure, shares, [percent(share) for share in shares])
    axes.rows(figure, labels)
    axes.across(figure, visible=False, range=[0, 1.28 * max(shares)])
    return theme.finished(figure, height=24 + 27 * len(labels))
