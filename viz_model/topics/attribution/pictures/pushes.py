"""What a vector pushes up and down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, note, signed


class PushesView(NamedTuple):
    """The tokens that a vector pushes up most and down most, beyond the average token; and the asked one.

    ``up`` and ``down`` hold labels with their logits, the strongest first. ``asked`` is the push of the token that
    the page asks about, and ``rank`` its place among all V (1 is pushed up most).
    """

    up: tuple[tuple[str, float], ...]
    down: tuple[tuple[str, float], ...]
    asked: float
    rank: int

    def facts(self) -> dict[str, str]:
        """For prose."""
        return {"push": signed(self.asked), "rank": f"{self.rank:,}"}


def draw_pushes(view: PushesView, words: Mapping[str, str]) -> sheet.Sheet:
    """Tokens pushed up, then tokens pushed down; ``words`` has "up", "down" and "axis"."""
    labels, values = zip(*view.up, *view.down, strict=True)
    split = len(view.up)
    rows = [n + 1.0 if n < split else n + 2.2 for n in range(len(values))]
    fill = [theme.POSITIVE] * split + [theme.NEGATIVE] * len(view.down)
    texts = [signed(value) for value in values]
    figure = sheet.Sheet()
    hovers = [hover(label, ("", text)) for label, text in zip(labels, texts, strict=True)]
    bars.across(figure, values, fill, rows=rows, width=0.7, hover=hovers)
    bars.ends(figure, values, texts, rows=rows)
    for row, name in ((0.1, words["up"]), (rows[split] - 0.9, words["down"])):
        note(figure, name, 0, row, xref="x domain", xanchor="left")
    bars.zero(figure, rows[0], rows[split - 1])
    bars.zero(figure, rows[split], rows[-1])
    axes.rows(figure, labels, places=rows, longest=14, range=[rows[-1] + 0.6, -0.5])
    axes.across(figure, words["axis"], range=axes.reach(values), nticks=5)
    return theme.finished(figure, height=92 + 21 * (len(values) + 2))
