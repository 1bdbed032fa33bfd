"""Sampling laid open: the whole distribution and its cuts, and where every drawn number fell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import sheet, theme
from viz_model.drawing.writing import percent
from viz_model.runs.generation import Sampling, Step
from viz_model.topics.next_token.numbers.repetition import Repetition
from viz_model.topics.next_token.pictures.next_token import ChoiceView
from viz_model.topics.tokens.pictures.tokens import chip

RANKS_DRAWN = 400
"""Ranks at which a curve is drawn at the most, evenly on a logarithmic axis: between them it only falls."""

LOWEST = -12.0
"""The power of ten below which a probability is no longer drawn."""

ROWS_DRAWN = 12

WRITTEN_FROM = 0.07
"""The share of the bar from which on a token's label is written into its interval."""


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

    @property
    def kept_mass(self) -> float:
        return self.cuts[-1].mass if self.cuts else 1.0

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
            "n_vocab": f"{self.n_vocab:,}",
            "n_kept": f"{self.n_kept:,}",
            "n_dropped": f"{self.n_vocab - self.n_kept:,}",
            "kept": percent(self.kept_mass),
            "dropped": percent(max(0.0, 1 - self.kept_mass) if self.n_kept < self.n_vocab else 0.0),
            "moved": percent(self.moved),
            "temperature": f"{self.temperature:.2f}",
            "half_one": f"{self.halves[0]:,}",
            "half": f"{self.halves[1]:,}",
            "least": f"10^{{{self.probs[-1]:.1f}}}",
        }


def _log10_softmax(logits: np.ndarray) -> np.ndarray:
    """log₁₀ of the softmax of [V] logits in double precision, which has no smallest probability."""
    shifted = logits - logits.max()
    return np.asarray((shifted - np.log(np.exp(shifted).sum())) / np.log(10))


def draw_tail(view: TailView, names: Mapping[str, str]) -> go.Figure:
    """Probability by rank on logarithmic axes, and below it how much the tokens up to there hold together.

    What is kept is a thick line, what is dropped a grey one. ``names`` holds "model", "kept", "dropped", "p",
    "mass", "rank", and the names of the cuts.
    """
    figure = sheet.Sheet.grid(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[3, 2])
    said = {name: theme.plain(text) for name, text in names.items()}
    kept = view.ranks <= view.n_kept
    from_cut = view.ranks >= view.n_kept  # the last kept token too, so that the line has no gap
    colour, grey = theme.ROLES["output"], theme.ROLES["token"]
    hover = [percent(float(10**p)) if p > -6 else f"10^{p:.1f}" for p in view.probs]

    def line(where: np.ndarray, values: np.ndarray, row: int, name: str, style: dict[str, object]) -> None:
        figure.add_trace(
            sheet.scatter(
                x=view.ranks[where],
                y=values[where],
                mode="lines" if where.sum() > 1 else "lines+markers",
                name=said[name],
                line=style,
                marker={"size": 7, "color": style["color"]},
                showlegend=row == 1,
                customdata=np.array(hover)[where],
                hovertemplate=f"{said['rank']} %{{x:,}}<br>{said['p']} <b>%{{customdata}}</b><extra></extra>"
                if row == 1
                else f"{said['rank']} %{{x:,}}<br>{said['mass']} <b>%{{y:.2%}}</b><extra></extra>",
            ),
            row=row,
            col=1,
        )

    everywhere = np.ones(len(view.ranks), dtype=bool)
    if view.temperature not in (0.0, 1.0):
        line(everywhere, 10**view.model, 1, "model", {"color": theme.INK, "width": 1.5, "dash": "dot"})
    if view.n_kept < view.n_vocab:
        line(from_cut, 10**view.probs, 1, "dropped", {"color": grey, "width": 2})
        line(from_cut, view.mass, 2, "dropped", {"color": grey, "width": 2})
    line(kept, 10**view.probs, 1, "kept", {"color": colour, "width": 4})
    line(kept, view.mass, 2, "kept", {"color": colour, "width": 4})
    for n, cut in enumerate(view.cuts):
        # The cut lies between the last token that is kept and the first that is not.
        place = cut.n_kept + 0.5 if cut.n_kept < view.n_vocab else cut.n_kept
        for row in (1, 2):
            figure.add_vline(x=place, line={"color": theme.INK, "width": 1, "dash": "dash"}, row=row, col=1)
        figure.add_annotation(
            x=np.log10(place),
            y=1,
            yref="y domain",
            xref="x",
            text=said[cut.name],
            showarrow=False,
            xanchor="left" if cut.n_kept < view.n_vocab**0.6 else "right",
            xshift=4 if cut.n_kept < view.n_vocab**0.6 else -4,
            yanchor="top",
            yshift=-17 * n,
            font={"size": 12},
        )
        figure.add_hline(y=cut.mass, line={"color": theme.rgba(colour, 0.6), "width": 1, "dash": "dash"}, row=2, col=1)
    lowest = max(LOWEST, float(min(view.model.min(), view.probs.min())) - 0.3)
    theme.layout(figure, height=430)
    grid = theme.rgba(theme.ROLES["residual"], 0.25)
    powers = np.arange(np.floor(np.log10(view.n_vocab)) + 1)
    figure.update_xaxes(
        type="log",
        range=[-0.06, np.log10(view.n_vocab) + 0.06],
        tickvals=10**powers,
        ticktext=[f"{int(10**power):,}" for power in powers],
        fixedrange=True,
    )
    figure.update_xaxes(title={"text": said["rank"], "font": {"size": 12}}, row=2, col=1)
    exponents = range(int(np.ceil(lowest)), 1, 1 if lowest > -5 else 2 if lowest > -9 else 3)
    figure.update_yaxes(
        type="log",
        range=[lowest, 0.2],
        tickvals=[10.0**e for e in exponents],
        ticktext=[theme.power_of_ten(e) if e < -2 else f"{100 * 10.0**e:g}%" for e in exponents],
        title={"text": said["p"], "font": {"size": 12}},
        showgrid=True,
        gridcolor=grid,
        fixedrange=True,
        row=1,
        col=1,
    )
    figure.update_yaxes(
        range=[0, 1.04],
        tickformat=".0%",
        nticks=5,
        title={"text": said["mass"], "font": {"size": 12}},
        showgrid=True,
        gridcolor=grid,
        fixedrange=True,
        row=2,
        col=1,
    )
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 12}},
        margin={"t": 30},
    )
    return figure.drawn()


# Draws


class DrawsView(NamedTuple):
    """Some draws one after the other, beginning with draw ``first`` (the very first one is 1).

    ``position`` is where the first of them stands in the text, ``picked`` the index of one among them.
    """

    steps: tuple[Step, ...]
    first: int
    position: int
    picked: int

    @classmethod
    def of(cls, steps: Sequence[Step], picked: int, n_before: int) -> DrawsView:
        """At most :data:`ROWS_DRAWN` of the ``steps`` after ``n_before`` tokens, with ``picked`` among them."""
        start = max(0, min(picked - ROWS_DRAWN // 2, len(steps) - ROWS_DRAWN))
        return cls(tuple(steps[start : start + ROWS_DRAWN]), start + 1, n_before + start, picked - start)


def greedy_chips(steps: Sequence[Step], start: int) -> list[dict[str, object]]:
    """For the ribbon: what greedy decoding would have taken after the same tokens, over its probability."""
    return [chip(step.leaders[0][0], start + n, percent(step.leaders[0][1])) for n, step in enumerate(steps)]


def draw_columns(steps: Sequence[Step]) -> dict[str, list[object]]:
    """The rows of a table, by column."""
    return {
        "draw": list(range(1, len(steps) + 1)),
        "number": [step.drawn for step in steps],
        "start": [step.start for step in steps],
        "stop": [step.stop for step in steps],
        "token": [step.token.label for step in steps],
        "rank": [step.rank + 1 for step in steps],
        "before": [step.probability for step in steps],
        "after": [step.final_probability for step in steps],
        "greedy": [step.leaders[0][0].label for step in steps],
        "greedy_p": [step.leaders[0][1] for step in steps],
    }


def draw_facts(steps: Sequence[Step], picked: int) -> dict[str, str]:
    """For prose: one draw, with as many digits as tell its number from the ends of its interval."""
    step = steps[picked]
    digits = int(np.clip(np.ceil(-np.log10(max(step.stop - step.start, 1e-12))) + 2, 4, 12))
    return {
        "draw": str(picked + 1),
        "number": f"{step.drawn:.{digits}f}",
        "start": f"{step.start:.{digits}f}",
        "stop": f"{step.stop:.{digits}f}",
        "p": percent(step.final_probability),
        "rank": f"{step.rank + 1:,}",
        "greedy_p": percent(step.leaders[0][1]),
        "n": str(len(steps)),
        "n_greedy": str(sum(step.rank == 0 for step in steps)),
    }


def draw_draws(view: DrawsView, names: Mapping[str, str]) -> go.Figure:
    """A bar from 0 to 1 a draw: the tokens' intervals side by side, the drawn number as a mark, what it hit in colour.

    ``names`` holds "number", "interval", "rest" and "axis".
    """
    said = {name: theme.plain(text) for name, text in names.items()}
    # Plotly reads a category that is a number as a place on the axis.
    rows = [f"#{view.first + n}" for n in range(len(view.steps))]
    figure = sheet.Sheet()
    left, width, at, fills, labels, hover = [], [], [], [], [], []
    for row, step in zip(rows, view.steps, strict=True):
        edge = 0.0
        for n, (token, share) in enumerate(step.leaders):
            left.append(edge)
            width.append(share)
            at.append(row)
            fills.append(theme.rgba(theme.ROLES["output"], 0.16 if n % 2 else 0.28))
            written = share >= WRITTEN_FROM and step.rank != n
            labels.append(theme.shorten(token.label, max(3, int(90 * share))) if written else "")
            hover.append(f"<b>{theme.plain(token.label)}</b> {percent(share)}<br>{edge:.4f} – {edge + share:.4f}")
            edge += share
        if edge < 1 - 1e-6:
            left.append(edge)
            width.append(1 - edge)
            at.append(row)
            fills.append(theme.rgba(theme.ROLES["token"], 0.14))
            labels.append("")
            hover.append(f"{said['rest']} {percent(1 - edge)}<br>{edge:.4f} – 1")
    outline = {"color": theme.rgba(theme.ROLES["token"], 0.5), "width": 0.5}
    figure.add_trace(
        sheet.bar(
            orientation="h",
            base=left,
            x=width,
            y=at,
            width=0.62,
            marker={"color": fills, "line": outline},
            text=labels,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": 11, "color": theme.INK},
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    colours = [theme.token_colour(view.position + n) for n in range(len(rows))]
    wide = [step.stop - step.start >= WRITTEN_FROM for step in view.steps]
    figure.add_trace(
        sheet.bar(
            orientation="h",
            base=[step.start for step in view.steps],
            x=[step.stop - step.start for step in view.steps],
            y=rows,
            width=0.62,
            marker={
                "color": [theme.rgba(colour, 0.55) for colour in colours],
                "line": {"color": colours, "width": 2},
            },
            text=[
                theme.shorten(step.token.label, max(3, int(90 * (step.stop - step.start)))) if on else ""
                for step, on in zip(view.steps, wide, strict=True)
            ],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": 12, "color": theme.INK},
            customdata=[
                f"<b>{theme.plain(step.token.label)}</b> {percent(step.final_probability)}"
                f"<br>{said['number']} {step.drawn:.6f}<br>{said['interval']} {step.start:.6f} – {step.stop:.6f}"
                for step in view.steps
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.add_trace(
        sheet.scatter(
            x=[step.drawn for step in view.steps],
            y=rows,
            mode="markers",
            marker={"symbol": "line-ns", "size": 22, "line": {"color": theme.INK, "width": 2.5}},
            hoverinfo="skip",
        )
    )
    ticks = [f"{row}  {theme.shorten(step.token.label, 10)}" for row, step in zip(rows, view.steps, strict=True)]
    ticks[view.picked] = f"<b>{ticks[view.picked]}</b>"
    theme.layout(figure, height=64 + 32 * len(rows), margin={"r": 16})
    figure.update_layout(barmode="overlay")
    figure.update_yaxes(
        type="category", autorange="reversed", fixedrange=True, tickvals=list(range(len(rows))), ticktext=ticks
    )
    figure.update_xaxes(
        range=[0, 1], fixedrange=True, dtick=0.25, title={"text": said["axis"], "font": {"size": 12}}, ticks="outside"
    )
    return figure.drawn()


# Repetition


TIMES = {"first": (1, 1), "second": (2, 2), "more": (3, math.inf)}
"""How often a run of tokens has stood in the text: least and most, by the name of the colour it gets."""


class RepetitionView(NamedTuple):
    """What was repeated among drawn tokens; ``labels`` [N] are theirs, and the first of them is draw 1."""

    found: Repetition
    labels: tuple[str, ...]

    @classmethod
    def of(cls, before: Sequence[int], steps: Sequence[Step]) -> RepetitionView:
        """Of tokens drawn after the ids ``before``."""
        return cls(Repetition.of(before, steps), tuple(step.token.label for step in steps))

    @property
    def rises(self) -> bool:
        """Whether what came a second time, and what came more often, was more probable than what was new."""
        new, *again = (self.found.mean(*times) for times in TIMES.values())
        repeated = [mean for mean in again if mean is not None]
        return new is not None and bool(repeated) and min(repeated) > new

    def facts(self) -> dict[str, str]:
        """For prose; a mean of no tokens is a dash."""
        means = {f"p_{name}": self.found.mean(*times) for name, times in TIMES.items()}
        return {
            "n": str(len(self.labels)),
            "n_repeated": str(self.found.n_repeated),
            "most": str(int(self.found.times.max(initial=1))),
            **{name: "–" if p is None else percent(p) for name, p in means.items()},
        }


def draw_repetition(view: RepetitionView, names: Mapping[str, str]) -> go.Figure:
    """A bar for each drawn token, as high as its probability, in the colour of how often its run has stood there.

    ``names`` holds "p", "draw", "time" and the keys of :data:`TIMES`.
    """
    said = {name: theme.plain(text) for name, text in names.items()}
    figure, colour = sheet.Sheet(), theme.ROLES["output"]
    fills = {"first": theme.rgba(theme.ROLES["token"], 0.45), "second": theme.rgba(colour, 0.5), "more": colour}
    place = np.arange(1, len(view.labels) + 1)
    for name, times in TIMES.items():
        among = view.found.among(*times)
        if not among.any():
            continue
        figure.add_trace(
            sheet.bar(
                x=place[among],
                y=view.found.probs[among],
                name=said[name],
                marker={"color": fills[name]},
                customdata=[
                    (theme.plain(view.labels[n]), percent(float(view.found.probs[n])), int(view.found.times[n]))
                    for n in np.flatnonzero(among)
                ],
                hovertemplate=f"#%{{x}} <b>%{{customdata[0]}}</b><br>{said['p']} <b>%{{customdata[1]}}</b>"
                f"<br>{said['time']} %{{customdata[2]}}<extra></extra>",
            )
        )
    theme.layout(figure, height=300)
    figure.update_layout(
        barmode="overlay",
        bargap=0.15,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        margin={"t": 30},
    )
    figure.update_xaxes(title={"text": said["draw"], "font": {"size": 12}}, range=[0.4, len(place) + 0.6])
    figure.update_yaxes(range=[0, 1.03], tickformat=".0%", nticks=5, title={"text": said["p"], "font": {"size": 12}})
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(fixedrange=True, showgrid=True, gridcolor=theme.rgba(theme.ROLES["residual"], 0.25))
    return figure.drawn()
