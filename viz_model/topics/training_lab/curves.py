"""The curves of a run of training as it goes: its losses, the gradient of each block, and the learning rate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import theme
from viz_model.drawing.plotted import axes, curve, level
from viz_model.drawing.theme import ROLES
from viz_model.island.page import Plot, Words
from viz_model.training import lab

TRAIN, HELD_OUT = "#4F7BEA", "#D6246E"

MOST_POINTS = 240
"""Of a line, whatever the number of steps: what is sent stays small."""


class RunView(NamedTuple):
    """The curves of a run so far, each point the mean of a few neighboring steps.

    steps: [N] finished steps. loss, rate: [N].
    norms: [P, N] norm of each part's gradient, before clipping. parts: [P] the names, blocks in their order.
    held_steps, held_loss: [M].
    planned: [S] the learning rate of every step of the whole run. warmup: steps that it climbs.
    guessing: the loss of a model to which all tokens are alike; frequencies: the least that one has on the held-out
    text which knows frequencies alone.
    """

    steps: np.ndarray
    loss: np.ndarray
    rate: np.ndarray
    norms: np.ndarray
    parts: tuple[str, ...]
    held_steps: np.ndarray
    held_loss: np.ndarray
    planned: np.ndarray
    warmup: int
    guessing: float
    frequencies: float

    @classmethod
    def of(cls, run: lab.Experiment) -> "RunView":
        """The curves of a run that may still be going."""
        # Both lists may grow while this is read.
        reports, held_out = tuple(run.reports), tuple(run.held_out)
        parts = tuple(reports[0].gradient_norms) if reports else ()
        steps = ends(len(reports))
        norms = [thin([report.gradient_norms[part] for report in reports]) for part in parts]
        return cls(
            steps=steps,
            loss=thin([report.loss for report in reports]),
            rate=thin([report.learning_rate for report in reports]),
            norms=np.array(norms).reshape(len(parts), len(steps)),
            parts=parts,
            held_steps=np.array([measured.steps for measured in held_out]),
            held_loss=np.array([measured.loss for measured in held_out]),
            planned=run.plan.rates,
            warmup=run.plan.recipe.warmup,
            guessing=lab.guessing(run.plan.recipe.config.n_vocab),
            frequencies=run.frequencies,
        )

    @property
    def done(self) -> int:
        """Finished steps."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def peak(self) -> str:
        """The highest learning rate, for prose."""
        return f"{self.planned.max():g}"


def ends(n: int) -> np.ndarray:
    """The last step, counted from 1, of each window that :func:`thin` makes of ``n``."""
    size = max(1, -(-n // MOST_POINTS))
    return np.minimum(np.arange(size, n + size, size), n)


def thin(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """At most :data:`MOST_POINTS` values, each the mean of a window of neighbors."""
    if not len(values):
        return np.zeros(0)
    starts = np.append(0, ends(len(values))[:-1])
    return np.add.reduceat(np.asarray(values, dtype=float), starts) / np.diff(np.append(starts, len(values)))


class Before(NamedTuple):
    """The training before: the loss of each step, and what it is called."""

    losses: np.ndarray
    name: str


def loss(view: RunView, words: Words, before: Before | None = None) -> Plot:
    """Both losses by step, with the two levels that need no understanding of the text; pale, the training before."""
    made = figure("loss_axis", len(view.planned), words)
    if before is not None:
        pale = theme.rgba(ROLES["residual"], 0.5)
        curve(made, ends(len(before.losses)), thin(before.losses), before.name, pale, width=2)
    curve(made, view.steps, view.loss, words("train"), TRAIN)
    curve(made, view.held_steps, view.held_loss, words("held_out"), HELD_OUT, dash="dot")
    for name in ("guessing", "frequencies"):
        value = getattr(view, name)
        level(made, value, words(f"level_{name}", value=f"{value:.1f}"))
    made.update_yaxes(range=[0, top([view.loss, view.held_loss], view.guessing)])
    return Plot("training_lab.loss", made, words("loss_alt"), view, own=False)


FLOOR = 1e-20
"""A logarithmic axis has no place for 0."""


def norms(view: RunView, words: Words) -> Plot:
    """The gradient's norm by step, a line a block, the deeper the stronger; the embedding's dashed."""
    values = np.maximum(view.norms, FLOOR)
    made = figure("norms_axis", len(view.planned), words)
    blocks = [n for n, part in enumerate(view.parts) if ".blocks." in part]
    for n, part in enumerate(view.parts):
        if part == "embedding":
            curve(made, view.steps, values[n], words("embedding"), ROLES["residual"], dash="dash")
    for depth, n in enumerate(blocks):
        is_end = depth in (0, len(blocks) - 1)
        hue = theme.rgba(ROLES["output"], round(0.3 + 0.7 * depth / max(1, len(blocks) - 1), 2))
        width = 2.5 if is_end else 1.5
        curve(made, view.steps, values[n], words("block", i=depth), hue, width=width, showlegend=is_end)
    shown = values[np.isfinite(values) & (values > FLOOR)]
    # Whole decades, so that the axis rests while the lines grow.
    low, high = (np.floor(np.log10(shown.min())), np.ceil(np.log10(shown.max()))) if len(shown) else (-2.0, 0.0)
    made.update_yaxes(type="log", range=[float(low), float(max(high, low + 1))])
    return Plot("training_lab.norms", made, words("norms_alt"), view, own=False)


def rate(view: RunView, words: Words) -> Plot:
    """The learning rate of all steps, and how far the run has come on it."""
    n = len(view.planned)
    made = figure("rate_axis", n, words, height=230)
    if view.warmup:
        band = {"x0": 0, "x1": view.warmup, "y0": 0, "y1": 1, "yref": "paper", "line": {"width": 0}, "layer": "below"}
        made.add_shape(type="rect", fillcolor=theme.rgba(ROLES["residual"], 0.15), **band)
        note = {"xanchor": "left", "xshift": 6, "yanchor": "bottom", "showarrow": False}
        made.add_annotation(x=view.warmup, y=0, yref="paper", text=f"← {words('warmup_area')}", **note)
    curve(made, ends(n), thin(view.planned), words("rate_planned"), ROLES["residual"], dash="dash")
    curve(made, view.steps, view.rate, words("rate_done"), TRAIN, width=3)
    made.update_yaxes(range=[0, 1.1 * float(view.planned.max())])
    return Plot("training_lab.rate", made, words("rate_alt"), view, own=False)


def figure(axis: str, n_steps: int, words: Words, height: int = 320) -> go.Figure:
    """Axes over all ``n_steps`` of a run, so that they rest while its lines grow; ``axis`` names the upright one."""
    return axes(words("step_axis"), words(axis), height, {"range": [0, n_steps]})


def top(lines: Sequence[Sequence[float] | np.ndarray], least: float) -> float:
    """The end of an axis that begins at 0; a loss that is no number takes no room."""
    every = np.concatenate([np.asarray(one, dtype=float) for one in lines])
    return 1.1 * max([least, *every[np.isfinite(every)].tolist()])
