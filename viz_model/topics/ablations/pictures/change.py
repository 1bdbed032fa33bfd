"""A run beside the same run with another mask or without some heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.writing import percent
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import change

SHOWN = 6
"""First guesses of each run that are shown; together at most twice as many."""


UNCHANGED = 0.0005
"""Differences below this are written as 0.000, and count as none."""


class GuessesView(NamedTuple):
    """The first guesses of two runs at one position, with their probabilities in both, [N] each.

    In falling order of the first run's probability. ``divergence`` and ``entropies`` are in bits,
    over the full vocabulary (:class:`viz_model.topics.ablations.numbers.change.Guesses`).
    """

    labels: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    position: int
    best: tuple[int, int]
    divergence: float
    entropies: tuple[float, float]

    @classmethod
    def of(cls, before: Trace, after: Trace, position: int) -> GuessesView:
        found = change.guesses(before, after, position)
        first = [np.argsort(-probs, kind="stable")[:SHOWN] for probs in (found.before, found.after)]
        ids = np.unique(np.concatenate(first))
        ids = ids[np.argsort(-found.before[ids], kind="stable")]
        return cls(
            labels=tuple(token.label for token in before.tokenizer.tokens(ids.tolist())),
            before=found.before[ids],
            after=found.after[ids],
            position=found.position,
            best=(int(found.before[ids].argmax()), int(found.after[ids].argmax())),
            divergence=found.divergence,
            entropies=found.entropies,
        )

    @property
    def outcome(self) -> Literal["same", "stays", "changes"]:
        """Whether the runs agree to the digits that are written, or at least on their first guess."""
        if self.divergence < UNCHANGED:
            return "same"
        return "stays" if self.best[0] == self.best[1] else "changes"

    def facts(self) -> dict[str, str]:
        """For prose: the first guess of each run, the divergence and both entropies."""
        first, second = self.best
        return {
            "p_before": percent(self.before[first]),
            "p_after": percent(self.after[first]),
            "p_new": percent(self.after[second]),
            "divergence": f"{self.divergence:.3f}",
            "entropy_before": f"{self.entropies[0]:.2f}",
            "entropy_after": f"{self.entropies[1]:.2f}",
            "entropy_change": f"{round(self.entropies[1] - self.entropies[0], 2) + 0.0:+.2f}",
        }


def draw_guesses(view: GuessesView, names: Mapping[str, str]) -> go.Figure:
    """Bars side by side: the run as it is in grey, the changed run in colour ("before", "after")."""
    rows = theme.unique(view.labels)
    figure = sheet.Sheet()
    colours = {"before": theme.ROLES["residual"], "after": theme.ROLES["output"]}
    for name, values in (("before", view.before), ("after", view.after)):
        figure.add_trace(
            sheet.bar(
                y=rows,
                x=values,
                orientation="h",
                name=theme.plain(names[name]),
                marker={"color": colours[name]},
                text=[percent(value) for value in values],
                textposition="outside",
                textfont={"size": 11},
                cliponaxis=False,
                hovertemplate=f"%{{y}}<br>{theme.plain(names[name])}: <b>%{{text}}</b><extra></extra>",
            )
        )
    theme.layout(figure, height=80 + 38 * len(rows))
    figure.update_layout(
        barmode="group",
        bargap=0.28,
        bargroupgap=0.06,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"},
        margin={"t": 30, "r": 52},
    )
    figure.update_yaxes(type="category", autorange="reversed", fixedrange=True, **theme.ticks(view.labels))
    top = float(max(view.before.max(), view.after.max()))
    figure.update_xaxes(
        tickformat=".0%" if top > 0.05 else ".1%" if top > 0.005 else ".2%",
        range=[0, top * 1.05],
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        nticks=5,
        fixedrange=True,
    )
    return figure.drawn()


class PlacesView(NamedTuple):
    """How far two runs lie apart at every position, [T] numbers from 0 up.

    ``measure`` is "divergence", KL in bits between what they predict, or "turn", 1 − cosine of the
    vectors that leave the stack; ``lengths`` [2, T] are those vectors' lengths.
    """

    labels: tuple[str, ...]
    values: np.ndarray
    lengths: np.ndarray
    measure: str
    token: int
    site: str

    @classmethod
    def of(cls, before: Trace, after: Trace, token: int) -> PlacesView:
        """Divergence where this stack's positions have predictions of their own, else the turn."""
        found = change.vectors(before, after)
        predicts = "probs" in before
        return cls(
            labels=tuple(token.label for token in before.tokens),
            values=change.divergences(before, after) if predicts else 1 - found.cosines,
            lengths=np.stack([found.before, found.after]),
            measure="divergence" if predicts else "turn",
            token=token,
            site="probs" if predicts else before.leaving,
        )

    def facts(self) -> dict[str, str]:
        """For prose: the selected token's cosine and lengths, and how many positions changed at all."""
        return {
            "turn": f"{1 - self.values[self.token]:.4f}",
            "length_before": f"{self.lengths[0, self.token]:.2f}",
            "length_after": f"{self.lengths[1, self.token]:.2f}",
            "n_changed": str(int((self.values > UNCHANGED).sum())),
            "n": str(len(self.values)),
        }


def draw_places(view: PlacesView, title: str) -> go.Figure:
    """One bar a token, the selected one's in the accent; ``title`` names the measure."""
    colours = [theme.rgba(theme.ROLES["output"], 0.45)] * len(view.labels)
    colours[view.token] = theme.ROLES["output"]
    figure = sheet.Sheet(
        sheet.bar(
            x=theme.unique(view.labels),
            y=view.values.astype(np.float32),
            marker={"color": colours},
            hovertemplate=f"%{{x}}<br>{theme.plain(title)} <b>%{{y:.4f}}</b><extra>{theme.plain(view.site)}</extra>",
        )
    )
    theme.layout(figure, height=220)
    figure.update_xaxes(type="category", fixedrange=True, **theme.ticks(view.labels))
    figure.update_yaxes(
        title=theme.plain(title),
        # What counts as no change must not fill the picture.
        range=[0, max(1.05 * float(view.values.max()), 20 * UNCHANGED)],
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        nticks=4,
        fixedrange=True,
    )
    return figure.drawn()


class WrittenView(NamedTuple):
    """‖what each head writes‖ at one position, [H] in the run as it is and in the changed one."""

    before: np.ndarray
    after: np.ndarray
    site: str

    @classmethod
    def of(cls, before: Trace, after: Trace, layer: int, token: int) -> WrittenView:
        site = before.full_name(f"blocks.{layer}.attn.head_out")
        return cls(change.written(before, layer, token), change.written(after, layer, token), site)


def draw_written(view: WrittenView, names: Mapping[str, str], head: int) -> go.Figure:
    """Two bars a head ("before", "after"); "head" and "length" name the axes. The chosen head stands out."""
    figure = sheet.Sheet()
    colours = {"before": theme.ROLES["residual"], "after": theme.ROLES["value"]}
    heads = [str(h) for h in range(len(view.before))]
    for name, values in (("before", view.before), ("after", view.after)):
        figure.add_trace(
            sheet.bar(
                x=heads,
                y=values,
                name=theme.plain(names[name]),
                marker={"color": colours[name]},
                hovertemplate=f"{theme.plain(names['head'])} %{{x}}<br>{theme.plain(names[name])}: <b>%{{y:.4f}}</b>"
                f"<extra>{theme.plain(view.site)}</extra>",
            )
        )
    theme.layout(figure, height=300)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"}, margin={"t": 30}
    )
    ticks = [f"<b>{h}</b>" if int(h) == head else h for h in heads]
    figure.update_xaxes(
        type="category", title=theme.plain(names["head"]), tickvals=heads, ticktext=ticks, fixedrange=True
    )
    figure.update_yaxes(
        title=theme.plain(names["length"]),
        showgrid=True,
        gridcolor=theme.rgba(theme.ROLES["residual"], 0.25),
        nticks=5,
        fixedrange=True,
    )
    return figure.drawn()
