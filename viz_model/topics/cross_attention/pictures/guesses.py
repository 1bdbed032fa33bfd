"""The most probable tokens after a step."""

from __future__ import annotations

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.writing import percent
from viz_model.topics.cross_attention import numbers as cross


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
