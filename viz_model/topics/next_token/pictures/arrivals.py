"""What was expected of every token of a text, against the token that stands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.cells import BESIDE, COLUMN, Cells, span_of
from viz_model.drawing.spans import around
from viz_model.drawing.writing import hover, hovered, percent, shown_part

MOST_ARRIVED = 160
"""Tokens of a text whose surprise is drawn at the most; the table has all of them."""


class ArrivalsView(NamedTuple):
    """For n tokens of a text: what the model expected there of the token that stands there.

    ``positions``, ``probs``, ``bits`` (−log₂ p) and ``ranks`` (1 is first) [n] are those of the
    token that came; ``guesses`` the most probable tokens with their probabilities. ``before`` is
    the label of the position that predicted, where that is another; ``visible`` [n] the token's
    probability while the model can see it, where it was covered to ask. ``ids`` [n] of the tokens that came are
    given where ``probs`` are those of this run at the positions before.
    """

    positions: np.ndarray
    labels: tuple[str, ...]
    probs: np.ndarray
    bits: np.ndarray
    ranks: np.ndarray
    guesses: tuple[tuple[tuple[str, float], ...], ...]
    before: tuple[str, ...] | None = None
    visible: np.ndarray | None = None
    ids: tuple[int, ...] = ()

    def near(self, position: int | None, most: int = MOST_ARRIVED) -> ArrivalsView:
        """Of a long text ``most`` tokens around a position; around the end without one."""
        if len(self.labels) <= most:
            return self
        at = len(self.labels) - 1 if position is None else int(np.abs(self.positions - position).argmin())
        shown = around(at, len(self.labels), most)
        parts = {name: value[shown] for name, value in self._asdict().items() if value is not None}
        return self._replace(**parts)

    def columns(self) -> dict[str, list[object]]:
        """The rows of a table, by column."""
        found: dict[str, list[object]] = {} if self.before is None else {"before": list(self.before)}
        found |= {"came": list(self.labels), "probability": self.probs.tolist(), "rank": self.ranks.tolist()}
        found |= {
            "bits": self.bits.tolist(),
            "guess": [guesses[0][0] for guesses in self.guesses],
            "guess_probability": [guesses[0][1] for guesses in self.guesses],
        }
        return found if self.visible is None else found | {"visible": self.visible.tolist()}

    def facts(self) -> dict[str, str]:
        """For prose."""
        hardest = int(self.bits.argmax())
        mean = float(self.bits.mean())
        return {
            "n": str(len(self.labels)),
            "first": str(int((self.ranks == 1).sum())),
            "bits": f"{mean:.2f}",
            "nats": f"{mean * np.log(2):.2f}",
            "hardest_rank": f"{self.ranks[hardest]:,}",
            "hardest_p": percent(self.probs[hardest]),
            "start": str(self.positions[0]),
            "last": str(self.positions[-1]),
        }


def draw_arrivals(view: ArrivalsView, names: Mapping[str, str], selected: int | None = None) -> sheet.Sheet:
    """A strip of the probabilities that the tokens which came had had, and their surprise as bars.

    Of a long text those around the marked token, which ``layout.meta`` then says.

    ``selected`` is the position of a token to be marked. ``names`` has "probability", "bits",
    "rank" and "guesses", and "visible" where the view has that row.
    """
    n_tokens, view = len(view.labels), view.near(selected)
    strips = {"probability": view.probs}
    if view.visible is not None:
        strips = {"visible": view.visible, **strips}
    hovers = [_hovers(view, names, name, probs) for name, probs in strips.items()]
    cells = Cells("probs", (COLUMN, BESIDE), columns=span_of(view.positions - 1), beside=view.ids) if view.ids else None
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[len(strips), 2.4])
    strip = sheet.heatmap(
        z=np.array(list(strips.values()), dtype=np.float32),
        meta=None if cells is None else cells.meta,
        zmin=0,
        zmax=1,
        colorscale=theme.sequential("output"),
        showscale=False,
        xgap=1,
        ygap=2,
        text=[[percent(p) for p in probs] for probs in strips.values()],
        texttemplate="%{text}" if len(view.labels) <= 9 else None,
        textfont={"size": theme.SMALL, "color": theme.INK},
        **hovered(hovers),
    )
    figure.add_trace(strip, row=1, col=1)
    colours = [theme.token_colour(int(position)) for position in view.positions]
    bars.upward(figure, view.bits, colours, hover=hovers[-1], cells=cells, at=(2, 1))
    # A frame, as cells of improbable tokens are as clear as the page.
    frame = {"xref": "x domain", "yref": "y domain", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
    figure.add_shape(type="rect", **frame, line={"color": theme.rgba(theme.ROLES["residual"], 0.5), "width": 1})
    if len(view.labels) < n_tokens:
        shown_part(figure, int(view.positions[0]), int(view.positions[-1]), n_tokens + 1)
    for column in np.flatnonzero(view.positions == selected).tolist():
        for row in (1, 2):
            figure.add_vrect(column - 0.5, column + 0.5, row, 1, line={"color": theme.HIGHLIGHT, "width": 2})
    axes.columns(figure, view.labels, longest=14, most=40, range=[-0.5, len(view.labels) - 0.5])
    figure.update_xaxes(showticklabels=False, row=1, col=1)
    axes.rows(figure, [names[name] for name in strips], edge=0.5, tickfont={"size": theme.SMALL}, at=(1, 1))
    axes.upward(figure, names["bits"], grid=True, at=(2, 1))
    return theme.finished(figure, height=220 + 50 * len(strips))


def _hovers(view: ArrivalsView, names: Mapping[str, str], name: str, probs: np.ndarray) -> list[str]:
    """Of each token: which it is, its probability, its rank, and what was expected most."""
    found = []
    for n, (position, label) in enumerate(zip(view.positions, view.labels, strict=True)):
        asked = "" if view.before is None else f"{view.before[n]} → "
        guesses = [f"{guess}  {percent(p)}" for guess, p in view.guesses[n]]
        rank = f"{names['rank']} {view.ranks[n]:,}"
        lines: list[str | tuple[str, object]] = [
            f"{asked}{position}: {label}",
            (names[name], percent(probs[n])),
            rank,
            f"{names['guesses']}:",
            *guesses,
        ]
        found.append(hover(*lines))
    return found
