"""A run of training as it goes: loss, learning rate, and the gradient that reaches each block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.training import lab
from viz_model.training.loop import StepReport

MOST_POINTS = 240
"""Of a line, whatever the number of steps: what is sent stays small."""
TRAIN, HELD_OUT = "#4F7BEA", "#D6246E"
LATE = 20
"""Steps over which the last state of a run is taken."""

Words = Callable[..., str]


class RunView(NamedTuple):
    """The curves of a run so far, each point the mean of a few neighbouring steps.

    steps: [N] finished steps. loss, rate: [N].
    norms: [P, N] norm of each part's gradient, before clipping. parts: [P] the names, blocks in their order.
    blocks: [L] which rows of ``norms`` are blocks.
    held_steps, held_loss, held_accuracy: [M].
    planned: [S] the learning rate of every step of the whole run. warmup: steps that it climbs.
    guessing: the loss of a model to which all tokens are alike; stuck: of one that knows frequencies alone.
    n_clipped: steps whose gradient was shortened. late: [P] median of each norm over the last steps.
    """

    steps: np.ndarray
    loss: np.ndarray
    rate: np.ndarray
    norms: np.ndarray
    parts: tuple[str, ...]
    held_steps: np.ndarray
    held_loss: np.ndarray
    held_accuracy: np.ndarray
    planned: np.ndarray
    warmup: int
    guessing: float
    stuck: float
    n_clipped: int
    late: np.ndarray
    late_loss: float

    @classmethod
    def of(cls, run: lab.Experiment) -> RunView:
        """The curves of a run that may still be going."""
        recipe = run.plan.recipe
        # Both lists may grow while this is read.
        reports, held_out = tuple(run.reports), tuple(run.held_out)
        parts = tuple(reports[0].gradient_norms) if reports else ()
        norms = np.array([[report.gradient_norms[part] for report in reports] for part in parts])
        return cls(
            steps=_ends(len(reports)),
            loss=_thin([report.loss for report in reports]),
            rate=_thin([report.learning_rate for report in reports]),
            norms=np.array([_thin(row) for row in norms]).reshape(len(parts), len(_ends(len(reports)))),
            parts=parts,
            held_steps=np.array([found.steps for found in held_out]),
            held_loss=np.array([found.loss for found in held_out]),
            held_accuracy=np.array([found.accuracy for found in held_out]),
            planned=run.plan.rates,
            warmup=recipe.warmup,
            guessing=lab.guessing(recipe.config.n_vocab),
            stuck=run.stuck_at,
            n_clipped=sum(report.gradient_norm > recipe.clip for report in reports),
            late=np.median(norms[:, -LATE:], axis=1) if parts else np.zeros(0),
            late_loss=float(np.mean([report.loss for report in reports[-LATE:]])) if reports else np.nan,
        )

    @property
    def done(self) -> int:
        """Finished steps."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def blocks(self) -> list[int]:
        return [n for n, part in enumerate(self.parts) if ".blocks." in part]

    @property
    def ratio(self) -> float:
        """The gradient of the first block as a multiple of that of the last."""
        blocks = self.blocks
        return float(self.late[blocks[0]] / (self.late[blocks[-1]] or 1.0)) if blocks else 1.0

    def verdict(self) -> Literal["vanishing", "steady", "exploding"]:
        """Steady within a factor of 10 from the last block to the first."""
        return "vanishing" if self.ratio < 0.1 else "exploding" if self.ratio > 10 else "steady"

    def outcome(self) -> Literal["early", "stuck", "learns"]:
        """Whether held-out text is foretold better than by the frequencies of tokens alone."""
        if len(self.held_loss) and self.held_loss[-1] < 0.85 * self.stuck:
            return "learns"
        return "early" if self.done < 0.3 * len(self.planned) else "stuck"

    def overfits(self) -> bool:
        """Whether held-out text has become clearly harder again than it once was."""
        return len(self.held_loss) > 2 and bool(self.held_loss[-1] > 1.05 * self.held_loss.min())

    def facts(self) -> dict[str, str]:
        """Numbers for prose, of a run that has finished a step."""
        blocks = self.blocks
        return {
            "done": str(self.done),
            "planned": str(len(self.planned)),
            "warmup": str(self.warmup),
            "peak": f"{self.planned.max():g}",
            "guessing": f"{self.guessing:.2f}",
            "stuck": f"{self.stuck:.2f}",
            "loss_first": f"{self.loss[0]:.2f}",
            "loss_last": f"{self.late_loss:.2f}",
            "held_first": f"{self.held_loss[0]:.2f}",
            "held_last": f"{self.held_loss[-1]:.2f}",
            "held_best": f"{self.held_loss.min():.2f}",
            "held_best_at": str(self.held_steps[self.held_loss.argmin()]),
            "accuracy": f"{self.held_accuracy[-1]:.0%}",
            "clipped": str(self.n_clipped),
            "last_block": str(len(blocks) - 1),
            "norm_first": size(float(self.late[blocks[0]])),
            "norm_last": size(float(self.late[blocks[-1]])),
            "ratio": size(self.ratio),
        }


def size(number: float) -> str:
    """A number of any size in two digits, for prose: 0.31, or 2.5·10⁻¹⁵."""
    if number == 0 or not np.isfinite(number) or 1e-3 <= number < 1e4:
        return f"{number:.2g}" if number < 100 else f"{number:.0f}"
    mantissa, _, exponent = f"{number:.1e}".partition("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}"


def _ends(n: int) -> np.ndarray:
    """The last step, counted from 1, of each window that :func:`_thin` makes of ``n``."""
    size = max(1, -(-n // MOST_POINTS))
    return np.minimum(np.arange(size, n + size, size), n)


def _thin(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """At most :data:`MOST_POINTS` values, each the mean of a window of neighbours."""
    starts = np.append(0, _ends(len(values))[:-1]) if len(values) else np.zeros(0, dtype=int)
    sums = np.add.reduceat(np.asarray(values, dtype=float), starts) if len(values) else np.zeros(0)
    return sums / np.diff(np.append(starts, len(values)))


class Line(NamedTuple):
    """One line of a chart: steps and values [n] each, and its look. ``dash`` is SVG's; "" is a full line."""

    name: str
    steps: np.ndarray
    values: np.ndarray
    colour: str
    dash: str = ""
    width: float = 2.0
    legend: bool = True
    marker: bool = False


class Chart(NamedTuple):
    """Lines over the steps of the whole run.

    ``low`` and ``high`` bound the axis of values, of a logarithmic one as powers of ten. ``levels`` are
    values that are marked all along, with what is said of them; ``until`` is the end of the warm-up.
    """

    lines: tuple[Line, ...]
    n_steps: int
    title: str
    steps_title: str
    alt: str
    low: float
    high: float
    log: bool = False
    height: int = 300
    levels: tuple[tuple[float, str], ...] = ()
    until: int = 0
    until_label: str = ""

    def header(self) -> dict[str, Any]:
        """What :func:`viz_model.app.components.curves` draws, apart from :meth:`numbers`."""
        return {
            "height": self.height,
            "alt": self.alt,
            "x": {
                "range": [0, self.n_steps],
                "title": self.steps_title,
                "ticks": [{"at": at, "label": f"{at:g}"} for at in ticks(0, self.n_steps)],
            },
            "y": {
                "range": [self.low, self.high],
                "title": self.title,
                "log": self.log,
                "ticks": decades(self.low, self.high)
                if self.log
                else [{"at": at, "label": f"{at:g}"} for at in ticks(self.low, self.high)],
            },
            "lines": [
                {
                    "name": line.name,
                    "colour": line.colour,
                    "dash": line.dash,
                    "width": line.width,
                    "legend": line.legend,
                    "marker": line.marker,
                    "n": len(line.steps),
                }
                for line in self.lines
            ],
            "levels": [{"y": level, "label": label} for level, label in self.levels],
            "area": {"until": self.until, "label": self.until_label} if self.until else None,
        }

    def numbers(self) -> np.ndarray:
        """Steps, then values, of one line after the other: float32."""
        parts = [part for line in self.lines for part in (line.steps, line.values)]
        return np.concatenate([np.zeros(0), *parts]).astype(np.float32)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``, about six of them."""
    span = (high - low) / 6 or 1.0
    power = 10.0 ** np.floor(np.log10(span))
    step = power * next(n for n in (1, 2, 5, 10) if n * power >= span * 0.999)
    return [float(f"{n * step:.6g}") for n in range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)]


def decades(low: float, high: float) -> list[dict[str, object]]:
    """Powers of ten between 10^low and 10^high: at most about six of them."""
    powers = range(int(np.ceil(low)), int(np.floor(high)) + 1)
    shown = powers[:: max(1, -(-len(powers) // 6))]
    return [
        {"at": 10.0**n, "label": f"10{str(n).translate(_RAISED)}" if n < -1 or n > 1 else f"{10.0**n:g}"} for n in shown
    ]


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def loss_chart(view: RunView, words: Words) -> Chart:
    """Both losses by step, with the two levels that need no understanding of the text."""
    finite = [values[np.isfinite(values)] for values in (view.loss, view.held_loss)]
    return Chart(
        lines=(
            Line(words("train"), view.steps, view.loss, TRAIN),
            Line(words("held_out"), view.held_steps, view.held_loss, HELD_OUT, dash="3 3", marker=True),
        ),
        n_steps=len(view.planned),
        title=words("loss_axis"),
        steps_title=words("step_axis"),
        alt=words("loss_alt"),
        low=0.0,
        high=1.1 * max([view.guessing, *finite[0], *finite[1]]),
        levels=(
            (view.guessing, words("level_guessing", value=f"{view.guessing:.1f}")),
            (view.stuck, words("level_stuck", value=f"{view.stuck:.1f}")),
        ),
    )


def rate_chart(view: RunView, words: Words) -> Chart:
    """The learning rate of all steps, and how far the run has come on it."""
    n, grey = len(view.planned), theme.ROLES["residual"]
    return Chart(
        lines=(
            Line(words("rate_planned"), _ends(n), _thin(view.planned), grey, dash="4 3"),
            Line(words("rate_done"), view.steps, view.rate, TRAIN, width=3),
        ),
        n_steps=n,
        title=words("rate_axis"),
        steps_title=words("step_axis"),
        alt=words("rate_alt"),
        low=0.0,
        high=1.1 * float(view.planned.max()),
        height=230,
        until=view.warmup,
        until_label=words("warmup_area"),
    )


def norms_chart(view: RunView, words: Words) -> Chart:
    """The gradient's norm by step, a line a block, the deeper the stronger; the embedding's dashed."""
    floor = 1e-20  # a logarithmic axis has no place for 0
    values, blocks = np.maximum(view.norms, floor), view.blocks
    lines = [
        Line(words("embedding"), view.steps, values[n], theme.ROLES["residual"], dash="5 4")
        for n, part in enumerate(view.parts)
        if part == "embedding"
    ]
    for depth, n in enumerate(blocks):
        share = depth / max(1, len(blocks) - 1)
        is_end = depth in (0, len(blocks) - 1)
        colour = theme.rgba(theme.ROLES["output"], round(0.3 + 0.7 * share, 2))
        name = words("block", i=depth)
        lines.append(Line(name, view.steps, values[n], colour, width=2.5 if is_end else 1.5, legend=is_end))
    drawn = np.concatenate([np.zeros(0), *(line.values for line in lines)])
    found = drawn[np.isfinite(drawn) & (drawn > floor)]
    # Whole decades, so that the axis rests while the lines grow.
    low, high = (np.floor(np.log10(found.min())), np.ceil(np.log10(found.max()))) if len(found) else (-2.0, 0.0)
    return Chart(
        lines=tuple(lines),
        n_steps=len(view.planned),
        title=words("norm_axis"),
        steps_title=words("step_axis"),
        alt=words("norms_alt"),
        low=float(low),
        high=float(max(high, low + 1)),
        log=True,
    )


# By hand


def latex(number: float, digits: int = 5) -> str:
    """A number of any size for a formula: 0.0031, or 1.35·10⁻⁵."""
    mantissa, _, exponent = f"{number:.{digits}e}".partition("e")
    if number == 0 or -3 <= int(exponent) < 4:
        return f"{number:.{digits + 1}g}"
    return rf"{mantissa}\times 10^{{{int(exponent)}}}"


def by_hand(update: lab.Update, column: int) -> dict[str, str]:
    """AdamW's last step for one weight of the watched row, number by number."""
    beta1, beta2 = update.betas
    signed = {
        "w": update.before,
        "g": update.gradient,
        "m0": update.m_before,
        "v0": update.v_before,
        "m": update.m,
        "v": update.v,
        "mh": update.m_hat,
        "vh": update.v_hat,
        "after": update.after,
        "computed": update.computed(),
    }
    said = {name: latex(float(values[column])) for name, values in signed.items()}
    # Where it stands behind a factor or in a power, a negative number needs brackets.
    for name in ("g", "m0", "mh", "w"):
        value = said[name]
        said[f"{name}_b"] = f"({value})" if value.startswith("-") else value
    return said | {
        "t": str(update.t),
        "rate": latex(update.rate),
        "decay": f"{update.weight_decay:g}",
        "beta1": f"{beta1:g}",
        "beta2": f"{beta2:g}",
        "rest1": f"{1 - beta1:.4g}",
        "rest2": f"{1 - beta2:.4g}",
        "eps": latex(lab.EPS, 0),
        "column": str(column),
        "row": "0",
        "change": latex(float(update.after[column] - update.before[column])),
    }


def columns(reports: Sequence[StepReport], held_out: Sequence[lab.Measured], words: Words) -> dict[str, list[object]]:
    """The reports of a run as the columns of a table, one row a step."""
    measured = {found.steps: found for found in held_out}
    found: dict[str, list[object]] = {
        words("step_axis"): [report.step + 1 for report in reports],
        words("train"): [round(report.loss, 5) for report in reports],
        words("rate_axis"): [report.learning_rate for report in reports],
        words("column_norm"): [round(report.gradient_norm, 5) for report in reports],
        words("held_out"): [
            round(measured[report.step + 1].loss, 5) if report.step + 1 in measured else None for report in reports
        ],
        words("column_pace"): [round(report.tokens_per_second) for report in reports],
    }
    for part in reports[0].gradient_norms if reports else ():
        found[f"‖g‖ {part}"] = [round(report.gradient_norms[part], 6) for report in reports]
    return found
