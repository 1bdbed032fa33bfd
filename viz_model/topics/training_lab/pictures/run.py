"""A run of training as it goes: its curves, and what can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from viz_model.drawing import theme

MOST_POINTS = 240
"""Of a line, whatever the number of steps: what is sent stays small."""


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
    return f"{mantissa}·{theme.power_of_ten(int(exponent))}"


def ends(n: int) -> np.ndarray:
    """The last step, counted from 1, of each window that :func:`thin` makes of ``n``."""
    size = max(1, -(-n // MOST_POINTS))
    return np.minimum(np.arange(size, n + size, size), n)


def thin(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """At most :data:`MOST_POINTS` values, each the mean of a window of neighbours."""
    starts = np.append(0, ends(len(values))[:-1]) if len(values) else np.zeros(0, dtype=int)
    sums = np.add.reduceat(np.asarray(values, dtype=float), starts) if len(values) else np.zeros(0)
    return sums / np.diff(np.append(starts, len(values)))
