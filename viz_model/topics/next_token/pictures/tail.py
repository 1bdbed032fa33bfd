"""The whole distribution at one position, and its cuts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, sheet, theme
from viz_model.drawing.curves import Style
from viz_model.drawing.writing import hover, note, percent
from viz_model.runs.generation import Sampling
from viz_model.topics.next_token.pictures.choice import ChoiceView

RANKS_DRAWN = 400
"""Ranks at which a curve is drawn at the most, evenly on a logarithmic axis: between them it only falls."""

LOWEST = -12.0
"""The power of ten below which a probability is no longer drawn."""


class Cut(NamedTuple):
    """What one filter leaves: the ``n_kept`` most probable tokens, which hold ``mass`` of all the probability."""

    name: str
    n_kept: int
    mass: float


class TailView(NamedTuple):
    """All V probabilities of one position, in falling order.

    At ``ranks`` [R] (1 is the most probable token; V is among them): ``model`` and ``probs`` [R] are log₁₀ p at
    temperature 1 and at the chosen one, ``mass`` [R] the sum of the latter up to there. ``cuts`` are the filters that
    are on, in the order in which they act; ``moved`` is the probability that the temperature gives to other tokens,
    ½ Σ |p − p₁|; ``halves`` are how many tokens hold half of the probability, at temperature 1 and at the chosen one.
    """

    ranks: np.ndarray
    model: np.ndarray
    probs: np.ndarray
    mass: np.ndarray
    cuts: tuple[Cut, ...]
    n_vocab: int
    temperature: float
    moved: float
    halves: tuple[int, int]

    @property
    def n_kept(self) -> int:
        return self.cuts[-1].n_kept if self.cuts else self.n_vocab

    @classmethod
    def of(cls, choice: ChoiceView, sampling: Sampling) -> TailView:
        """The whole of a choice that was made with ``sampling``."""
        logits = choice.logits.astype(np.float64)
        n = len(logits)
        at_one = _log10_softmax(logits)
        at_temperature = _log10_softmax((logits - logits[0]) / sampling.temperature) if sampling.temperature else at_one
        probs = 10**at_temperature
        mass = np.minimum(1.0, np.cumsum(probs))
        cuts = []
        if sampling.temperature == 0:
            cuts.append(Cut("greedy", 1, float(mass[0])))
        else:
            if sampling.top_k is not None:
                n_kept = min(sampling.top_k, n)
                cuts.append(Cut("top_k", n_kept, float(mass[n_kept - 1])))
            if sampling.top_p is not None and sampling.top_p < 1:
                n_kept = int(choice.kept.sum())
                cuts.append(Cut("top_p", n_kept, float(mass[n_kept - 1])))
        even = np.geomspace(1, n, RANKS_DRAWN).round().astype(int)
        ranks = np.unique([*even, *(cut.n_kept for cut in cuts), *(min(n, cut.n_kept + 1) for cut in cuts)])
        halves = tuple(int((np.cumsum(p) < 0.5).sum()) + 1 for p in (10**at_one, probs))
        return cls(
            ranks=ranks,
            model=at_one[ranks - 1],
            probs=at_temperature[ranks - 1],
            mass=mass[ranks - 1],
            cuts=tuple(cuts),
            n_vocab=n,
            temperature=sampling.temperature,
            moved=float(np.abs(probs - 10**at_one).sum() / 2),
            halves=(halves[0], halves[1]),
        )

    def rows(self) -> list[tuple[str, int, float, int, float]]:
        """For a table: of each filter its name, what it keeps (tokens, mass), and what it drops of what was left."""
        found, n, mass = [], self.n_vocab, 1.0
        for cut in self.cuts:
            found.append((cut.name, cut.n_kept, cut.mass, n - cut.n_kept, max(0.0, mass - cut.mass)))
            n, mass = cut.n_kept, cut.mass
        return found

    def facts(self) -> dict[str, str]:
        """For prose."""
        return {
            "moved": percent(self.moved),
            "half_one": f"{self.halves[0]:,}",
            "half": f"{self.halves[1]:,}",
        }


def _log10_softmax(logits: np.ndarray) -> np.ndarray:
    """log₁₀ of the softmax of [V] logits in double precision, which has no smallest probability."""
    shifted = logits - logits.max()
    return np.asarray((shifted - np.log(np.exp(shifted).sum())) / np.log(10))


def draw_tail(view: TailView, names: Mapping[str, str]) -> sheet.Sheet:
    """Probability by rank on logarithmic axes, and below it how much the tokens up to there hold together.

    What is kept is a thick line, what is dropped a grey one. ``names`` holds "model", "kept", "dropped", "p",
    "mass", "rank", and the names of the cuts.
    """
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[3, 2])
    kept = view.ranks <= view.n_kept
    from_cut = view.ranks >= view.n_kept  # the last kept token too, so that the line has no gap
    shares = [percent(float(10**p)) if p > -6 else f"10^{p:.1f}" for p in view.probs]
    pairs = zip(view.ranks, shares, strict=True)
    hovers = np.array([hover(f"{names['rank']} {rank:,}", (names["p"], share)) for rank, share in pairs], dtype=object)
    rank, mass = theme.plain(names["rank"]), theme.plain(names["mass"])
    if view.temperature not in (0.0, 1.0):
        style = Style(theme.INK, "dot", width=1.5)
        curves.line(figure, view.ranks, 10**view.model, style, name=names["model"], hover=hovers.tolist(), at=(1, 1))
    lines = [("kept", kept, Style(theme.ROLES["output"], width=4))]
    if view.n_kept < view.n_vocab:
        lines.insert(0, ("dropped", from_cut, Style(theme.ROLES["token"])))
    for name, where, style in lines:
        marks, x = 0 if where.sum() > 1 else 7, view.ranks[where]
        p, texts = 10 ** view.probs[where], hovers[where].tolist()
        curves.line(figure, x, p, style, name=names[name], marks=marks, hover=texts, at=(1, 1))
        text = f"{rank} %{{x:,}}<br>{mass} <b>%{{y:.2%}}</b>"
        curves.line(figure, x, view.mass[where], style, marks=marks, hover=text, at=(2, 1))
    for n, cut in enumerate(view.cuts):
        _mark(figure, view, cut, n, names[cut.name])
    powers = 10 ** np.arange(np.floor(np.log10(view.n_vocab)) + 1)
    ticks: dict[str, Any] = {"tickvals": powers, "ticktext": [f"{int(power):,}" for power in powers]}
    axes.across(figure, type="log", range=[-0.06, np.log10(view.n_vocab) + 0.06], **ticks)
    axes.across(figure, names["rank"], small=True, at=(2, 1))
    lowest = max(LOWEST, float(min(view.model.min(), view.probs.min())) - 0.3)
    exponents = range(int(np.ceil(lowest)), 1, 1 if lowest > -5 else 2 if lowest > -9 else 3)
    ticks = {
        "tickvals": [10.0**e for e in exponents],
        "ticktext": [theme.power_of_ten(e) if e < -2 else f"{100 * 10.0**e:g}%" for e in exponents],
    }
    axes.upward(figure, names["p"], grid=True, small=True, type="log", range=[lowest, 0.2], at=(1, 1), **ticks)
    axes.upward(figure, names["mass"], grid=True, small=True, range=[0, 1.04], tickformat=".0%", nticks=5, at=(2, 1))
    return theme.finished(figure, height=430, margin={"t": 30}, legend="above")


def _mark(figure: sheet.Sheet, view: TailView, cut: Cut, n: int, name: str) -> None:
    """Where the n-th filter cuts, and how much it leaves."""
    # The cut lies between the last token that is kept and the first that is not.
    place = cut.n_kept + 0.5 if cut.n_kept < view.n_vocab else cut.n_kept
    line = {"width": 1, "dash": "dash"}
    for row in (1, 2):
        figure.add_vline(place, row, 1, line={"color": theme.INK, **line})
    is_early = cut.n_kept < view.n_vocab**0.6
    side: dict[str, Any] = {"xanchor": "left", "xshift": 4} if is_early else {"xanchor": "right", "xshift": -4}
    corner: dict[str, Any] = {"xref": "x", "yref": "y domain", "yanchor": "top", "yshift": -17 * n}
    note(figure, name, np.log10(place), 1, **side, **corner)
    figure.add_hline(cut.mass, 2, 1, line={"color": theme.rgba(theme.ROLES["output"], 0.6), **line})
