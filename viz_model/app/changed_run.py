"""A run beside the same run with a change: what both predict, where they lie apart, and what heads write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import percent
from viz_model.measures import change
from viz_model.measures.change import UNCHANGED
from viz_model.runs.trace import Trace

SHOWN = 6
"""First guesses of each run that are shown; together at most twice as many."""


class GuessesView(NamedTuple):
    """The first guesses of two runs at one position, with their probabilities in both, [N] each.

    In falling order of the first run's probability; ``best`` are the places of both runs' first guess.
    ``divergence`` and ``entropies`` are in bits, over the full vocabulary.
    """

    labels: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray
    position: int
    best: tuple[int, int]
    divergence: float
    entropies: tuple[float, float]

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


def draw_guesses(view: GuessesView, names: Mapping[str, str]) -> sheet.Sheet:
    """Bars side by side: the run as it is in grey, the changed run in colour ("before", "after")."""
    figure = sheet.Sheet()
    rows = theme.unique(view.labels)
    for name, values, role in (("before", view.before, "residual"), ("after", view.after, "output")):
        bars.across(
            figure,
            values,
            theme.ROLES[role],
            rows=rows,
            width=None,
            name=names[name],
            outside=[percent(value) for value in values],
            size=theme.SMALL,
            hover=f"%{{y}}<br>{theme.plain(names[name])}: <b>%{{text}}</b>",
        )
    figure.update_layout(barmode="group", bargap=0.28, bargroupgap=0.06)
    axes.rows(figure, view.labels, edge=0.5, longest=14, most=40, type="category")
    top = float(max(view.before.max(), view.after.max()))
    tickformat = ".0%" if top > 0.05 else ".1%" if top > 0.005 else ".2%"
    axes.across(figure, grid=True, tickformat=tickformat, range=[0, top * 1.05], nticks=5)
    return theme.finished(figure, height=80 + 38 * len(rows), margin={"t": 30, "r": 52}, legend="above")


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

    def facts(self) -> dict[str, str]:
        """For prose: the selected token's cosine and lengths, and how many positions changed at all."""
        return {
            "turn": f"{1 - self.values[self.token]:.4f}",
            "length_before": f"{self.lengths[0, self.token]:.2f}",
            "length_after": f"{self.lengths[1, self.token]:.2f}",
            "n_changed": str(int((self.values > UNCHANGED).sum())),
            "n": str(len(self.values)),
        }


def draw_places(view: PlacesView, title: str) -> sheet.Sheet:
    """One bar a token, the selected one's in the accent; ``title`` names the measure."""
    figure = sheet.Sheet()
    bars.upward(
        figure,
        view.values.astype(np.float32),
        bars.emphasised(theme.ROLES["output"], len(view.labels), [view.token]),
        columns=theme.unique(view.labels),
        hover=f"%{{x}}<br>{theme.plain(title)} <b>%{{y:.4f}}</b>",
        extra=view.site,
    )
    axes.columns(figure, view.labels, longest=14, most=40, type="category")
    # What counts as no change must not fill the picture.
    top = max(1.05 * float(view.values.max()), 20 * UNCHANGED)
    axes.upward(figure, title, grid=True, range=[0, top], nticks=4)
    return theme.finished(figure, height=220)


class WrittenView(NamedTuple):
    """‖what each head writes‖ at one position, [H] in the run as it is and in the changed one."""

    before: np.ndarray
    after: np.ndarray
    site: str


def draw_written(view: WrittenView, names: Mapping[str, str], head: int) -> sheet.Sheet:
    """Two bars a head ("before", "after"); "head" and "length" name the axes. The chosen head stands out."""
    figure = sheet.Sheet()
    heads = [str(h) for h in range(len(view.before))]
    for name, values, role in (("before", view.before, "residual"), ("after", view.after, "value")):
        hover = f"{theme.plain(names['head'])} %{{x}}<br>{theme.plain(names[name])}: <b>%{{y:.4f}}</b>"
        bars.upward(figure, values, theme.ROLES[role], columns=heads, name=names[name], hover=hover, extra=view.site)
    axes.columns(figure, heads, names["head"], bold=[head], type="category")
    axes.upward(figure, names["length"], grid=True, nticks=5)
    return theme.finished(figure, height=300, margin={"t": 30}, legend="above")


def guesses_view(before: Trace, after: Trace, position: int) -> GuessesView:
    """What both runs predict at a position of their logits.

    Raises:
        KeyError: the model predicts no tokens.
    """
    found = change.guesses(before, after, position)
    first = [np.argsort(-probs, kind="stable")[:SHOWN] for probs in (found.before, found.after)]
    ids = np.unique(np.concatenate(first))
    ids = ids[np.argsort(-found.before[ids], kind="stable")]
    return GuessesView(
        labels=tuple(token.label for token in before.tokenizer.tokens(ids.tolist())),
        before=found.before[ids],
        after=found.after[ids],
        position=found.position,
        best=(int(found.before[ids].argmax()), int(found.after[ids].argmax())),
        divergence=found.divergence,
        entropies=found.entropies,
    )


def places_view(before: Trace, after: Trace, token: int) -> PlacesView:
    """Divergence where this stack's positions have predictions of their own, else the turn."""
    found = change.vectors(before, after)
    predicts = "probs" in before
    return PlacesView(
        labels=tuple(token.label for token in before.tokens),
        values=change.divergences(before, after) if predicts else 1 - found.cosines,
        lengths=np.stack([found.before, found.after]),
        measure="divergence" if predicts else "turn",
        token=token,
        site="probs" if predicts else before.leaving,
    )


def written_view(before: Trace, after: Trace, layer: int, token: int) -> WrittenView:
    """What the heads of a layer write at a position."""
    site = before.full_name(f"blocks.{layer}.attn.head_out")
    return WrittenView(change.written(before, layer, token), change.written(after, layer, token), site)
