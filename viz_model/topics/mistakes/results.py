"""What both functions are given, and what each makes of it: matrices, or a number for each of a few tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing import chart, heatmap, matrix
from viz_model.drawing.scene import Cells, Mark, Scene, Text
from viz_model.drawing.tables import Among, Phrase, resolved
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.mistakes.forward import View
from viz_model.topics.mistakes.pair import Matrix, Outcome, Pair, answer, given, outcome, pair, pooled

MOST_SUMS, MOST_BARS = 24, 8
"""Rows beside which their sum is written; tokens of which a probability is drawn."""
CLOSE = 0.05
"""Relative difference below which two pictures look alike, and the difference deserves its own."""


def names(look: Look, view: View, found: Matrix) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What rows and columns are called; those beyond the tokens are padding."""
    labels, (n_rows, n_columns) = view.there.labels, found.values.shape[-2:]
    if found.columns == "dimension":
        return labels[:n_rows], tuple(map(str, range(n_columns)))
    return labels[:n_rows], (*labels, *(look.words("padding"),) * (n_columns - len(labels)))


def _draw(look: Look, view: View, found: Matrix, id: str, title: Any, alt: str, *beside: Matrix) -> Scene:
    """A matrix, on one scale with those ``beside`` it. Rows of NaN say so; a pattern's rows have their sums."""
    rows, columns = names(look, view, found)
    values, pool = pooled(found)
    shown, across = found.values.shape[-1], look.common(f"axis_{found.columns}")
    if found.n_columns > shown:
        across = look.words("first_columns", shown=shown, all=found.n_columns)
    tops = [np.where(np.isfinite(one.values), np.abs(one.values), 0).max((-2, -1)) for one in (found, *beside)]
    top = np.max(tops, axis=0)
    top = np.where(top > 0, top, 1).astype(np.float32)
    scene = matrix.scene(
        f"mistakes.{id}",
        alt,
        view.by(found.axes, values) if found.axes else values,
        heatmap.spans(rows, pool.rows),
        heatmap.spans(columns, pool.columns),
        axes=(look.common(f"axis_{found.rows}"), across),
        top=1.0 if found.is_pattern else view.by(found.axes, top) if found.axes else float(top),
        frames=False,
        written=False,
        look="share" if found.is_pattern else "signed",
        role="pattern" if found.is_pattern else "residual",
        hidden=look.common("masked"),
        bound="≤ " if pool != heatmap.Pool() else "",
        height=min(460.0, max(230.0, 110 + 22.0 * len(rows))),
    )
    (panel,) = scene.panels
    marks, n_summed = list(panel.marks), len(rows) if found.is_pattern and len(rows) <= MOST_SUMS else 0
    if n_summed:
        marks = [mark for mark in marks if not mark.id.startswith(("scale", "tick"))]
        marks += _sums(view, found, next(mark for mark in marks if isinstance(mark, Cells)))
    words = {"masked": look.common("masked")}
    note = look.common("pooled", rows=pool.rows, columns=pool.columns) if pool != heatmap.Pool() else ""
    return replace(scene, panels=[replace(panel, marks=marks)], heading=title, words=words, note=note, own=False)


def _sums(view: View, found: Matrix, cells: Any) -> Iterator[Mark]:
    sums, lost = found.values.sum(-1), np.isnan(found.values).any(-1)
    step = cells.height / sums.shape[-1]
    axes = f"{found.axes} row"
    for row in range(sums.shape[-1]):
        y = cells.y + step * (row + 0.5)
        said = Phrase("Σ {{sum}}", {"sum": view.by(axes, sums, "2", row=row)})
        yield Text(id=f"sum.{row}", text=said, x=(1, -52), y=y, fill="muted", present=view.by(axes, ~lost, row=row))  # type: ignore[arg-type]
        if lost[..., row].any():
            middle = (cells.width[0] / 2, cells.x + cells.width[1] / 2)
            present = view.by(axes, lost, row=row)
            yield Text(id=f"lost.{row}", text="NaN", x=middle, y=y, anchor="middle", bold=True, present=present)


def draw_given(look: Look) -> Scene | None:
    """The matrix that both functions read, before anybody knows what they make of it."""
    bug, view = pair(look)[:2]
    if view is None or answer(look) is not None or (found := given(view, bug)) is None:
        return None
    what = look.words(f"given_{bug.reads}", **view.numbers)
    scene = _draw(look, view, found, "given", look.words("given_title", what=what), look.words("given_alt"))
    return look.only_here(scene) if pair(look).is_of_layer else scene


def draw(letter: str) -> Callable[[Look], Scene | None]:
    """What the function under a letter makes of it, once there is an answer."""

    def made(look: Look) -> Scene | None:
        found = pair(look)
        if found.view is None or answer(look) is None or found.bug.shown == "reply":
            return None
        came = outcome(found.view, found.bug)
        shown = found.ordered(came.right, came.wrong)
        own, other = shown[letter], shown["B" if letter == "A" else "A"]
        alt = look.words("result_alt", letter=letter)
        if found.bug.shown == "loss":
            return _losses(look, found.view, letter, own, other, alt)
        if found.bug.shown == "likeliest":
            return _likeliest(look, found.view, letter, own, other, alt)
        title = _title(look, found, came, letter, own)
        scene = _draw(look, found.view, own, f"result.{letter}", title, alt, other)
        return look.only_here(scene) if found.is_of_layer else scene

    return made


def _title(look: Look, found: Pair, came: Outcome, letter: str, own: Matrix) -> Any:
    view = found.view
    assert view is not None
    lost = np.isnan(own.values).any(-1).sum(-1)
    if lost.any():
        return look.words("sums_lost", letter=letter, n=view.by(own.axes, lost, "whole"), all=own.values.shape[-2])
    if own.is_pattern:
        sums = own.values.sum(-1)
        low, high = sums.min(-1), sums.max(-1)
        same = view.by(own.axes, (np.round(low, 2) != np.round(high, 2)).astype(int))
        ends = {"low": view.by(own.axes, low, "2"), "high": view.by(own.axes, high, "2")}
        return look.words("sums", letter=letter, sums=Phrase(Among(["{{low}}", "{{low}} … {{high}}"], same), ends))
    if letter == found.wrong:
        largest = came.apart.max((-2, -1))
        return look.words("differs", letter=letter, largest=view.by(own.axes, largest, "g2"))
    return look.words("verdict_right", letter=letter)


def _losses(look: Look, view: View, letter: str, own: Any, other: Any, alt: str) -> Scene:
    mine, bits = (one.numpy() / np.log(2) for one in (own, other))
    labels = view.there.labels[len(view.there) - len(mine) :]
    bars = chart.Bars("", mine.astype(np.float32), "output", write="4", outside=False)
    scale = chart.axis(mine, bits, title=look.words("loss_axis"), write="0")
    scene = chart.bars(
        f"mistakes.result.{letter}", alt, labels, [bars], scale, names_axis=look.words("target_axis"), row=22.0
    )
    return replace(scene, heading=look.words("loss_title", letter=letter, mean=f"{mine.mean():.2f}"), own=False)


def _likeliest(look: Look, view: View, letter: str, own: Any, other: Any, alt: str) -> Scene:
    """The likeliest tokens at every position of the output."""
    (shares, ids), (most, _) = (one.softmax(-1).topk(min(MOST_BARS, one.shape[-1])) for one in (own, other))
    known = np.unique(ids.numpy())
    labels = [token.label for token in view.run.tokenizer.tokens(known.tolist())]
    at, values = np.searchsorted(known, ids.numpy()), shares.numpy()
    bars = chart.Bars("", view.of_output(values), "output", write="4", outside=False)
    scale = chart.axis(values, most.numpy(), title=look.words("probability_axis"), write="%0")
    named: Any = Among(labels, view.of_output(at))
    scene = chart.bars(
        f"mistakes.result.{letter}", alt, named, [bars], scale, names_axis=look.words("bars_token"), row=22.0
    )
    first = Among(labels, view.of_output(at[:, 0]))
    title = look.words("probability_title", letter=letter, token=first, share=view.of_output(values[:, 0], "percent"))
    return replace(scene, heading=title, own=False)


def reply(letter: str) -> Callable[[Look], Iterator[Line]]:
    """What a function returned or stopped with, in Python's own words."""

    def said(look: Look) -> Iterator[Line]:
        found = pair(look)
        if found.view is None or answer(look) is None or found.bug.shown != "reply":
            return
        came = outcome(found.view, found.bug)
        value = found.ordered(came.right, came.wrong)[letter]
        yield Line(look.words("fails" if isinstance(value, Exception) else "returns", letter=letter))
        yield Line(Phrase("```\n{{reply}}\n```", {"reply": in_words(value)}))

    return said


def in_words(value: Any) -> str:
    """What a function returned, for who reads it."""
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    return " × ".join(map(str, value.shape)) if hasattr(value, "shape") else str(value)


def draw_difference(look: Look) -> Scene | None:
    """Where both pictures look alike."""
    found = pair(look)
    if found.view is None or answer(look) is None or found.bug.shown != "matrix":
        return None
    view, came = found.view, outcome(found.view, found.bug)
    right, wrong, relative = came.right, came.wrong, came.relative
    is_close = (relative < CLOSE) & ~np.isnan(wrong.values).any((-2, -1))
    if not is_close.any():
        return None
    largest = view.by(right.axes, came.apart.max((-2, -1)), "g2")
    title = look.words("difference_title", largest=largest, relative=view.by(right.axes, relative, "%2"))
    apart = right._replace(values=wrong.values - right.values, is_pattern=False)
    near = view
    if right.is_pattern:  # of all layers it would be as much again as both pictures
        layer = int(resolved(view.fixed.get("layer", look.layer), look.place))
        near = View(replace(view.there, layer=layer).narrow, view.fixed)
        first = near.there.layers.start - view.there.layers.start
        apart = apart._replace(values=apart.values[first : first + len(near.there.layers)])
    scene = _draw(look, near, apart, "difference", title, look.words("difference_alt"))
    present: Any = view.by(right.axes, is_close) if right.axes else True
    return scene if is_close.all() else replace(scene, panels=[replace(one, present=present) for one in scene.panels])
