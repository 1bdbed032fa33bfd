"""A few tokens with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, note, percent
from viz_model.tokenizers.tokenizer import Token


def draw_guesses(guesses: Sequence[tuple[Token, float]], marked_id: int | None = None) -> sheet.Sheet:
    """Bars from 0 to 1; the marked one in bold."""
    figure = sheet.Sheet()
    hovers = [hover((f"{token.label}:", percent(p))) for token, p in guesses]
    bars.across(figure, [p for _, p in guesses], theme.ROLES["output"], width=0.6, hover=hovers)
    for row, (_, p) in enumerate(guesses):
        note(figure, percent(p), p, row, xanchor="left", xshift=5)
    marked = [n for n, (token, _) in enumerate(guesses) if token.id == marked_id]
    axes.rows(figure, [token.label for token, _ in guesses], edge=0.5, longest=14, bold=marked)
    axes.across(figure, visible=False, range=[0, 1.3])
    return theme.finished(figure, height=24 + 26 * len(guesses))
