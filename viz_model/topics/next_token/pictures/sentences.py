"""How near other sentences are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, note
from viz_model.tokenizers.text import make_visible

LINE = 46
"""Characters of a sentence that are written over its bar."""


class SentencesView(NamedTuple):
    """The cosine [n] of one sentence's vector with those of n others."""

    texts: tuple[str, ...]
    cosines: np.ndarray

    @property
    def nearest(self) -> str:
        """The nearest of the sentences, cut to a line."""
        return _cut(self.texts[int(self.cosines.argmax())])

    def facts(self) -> dict[str, str]:
        return {
            "most": two_digits(self.cosines.max()),
            "least": two_digits(self.cosines.min()),
            "n": str(len(self.texts)),
        }


def one_line(text: str) -> str:
    """A sentence in one line, with nothing hidden in it; spaces stay spaces."""
    return " ".join(make_visible(word) for word in text.split(" "))


def two_digits(cosine: float) -> str:
    """Two digits, without a negative nought."""
    return f"{round(float(cosine), 2) + 0.0:.2f}"


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def draw_sentences(view: SentencesView) -> sheet.Sheet:
    """A bar from 0 for each sentence, which is written over it; the axis runs to 1, or from −1."""
    n, figure = len(view.texts), sheet.Sheet()
    fill = bars.emphasised(theme.ROLES["residual"], n, [int(view.cosines.argmax())], 0.5)
    hovers = [hover(("", f"{cosine:.4f}"), text) for cosine, text in zip(view.cosines, view.texts, strict=True)]
    bars.across(figure, view.cosines, fill, width=0.36, hover=hovers)
    low = -1.0 if view.cosines.min() < -0.05 else min(0.0, float(view.cosines.min()))
    for row, (text, cosine) in enumerate(zip(view.texts, view.cosines, strict=True)):
        note(figure, _cut(text), low, row, size=theme.FONT_SIZE, xanchor="left", yshift=19)
        note(figure, f"{cosine:.3f}", max(0.0, float(cosine)), row, bold=True, xanchor="left", xshift=5)
    axes.rows(figure, view.texts, edge=0.5, visible=False)
    ticks = [-1, -0.5, 0, 0.5, 1]
    axes.across(figure, grid=True, range=[low, 1.14], tickvals=ticks, zeroline=True, zerolinecolor=theme.GRID)
    return theme.finished(figure, height=40 + 58 * n)
