"""Fresh models of many depths: the last block's gradient, and that of every block."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import written
from viz_model.drawing.plotted import axes, band, curve
from viz_model.island.page import Plot, Words
from viz_model.topics.norm_placement.fresh import PLACES, THEORY, DepthGradients, Fit, Place, power_law
from viz_model.topics.norm_placement.places import COLORS, NAMES, SYMBOLS, ratio


class StartView(NamedTuple):
    """Gradients of fresh models by depth, with the power laws fitted to them.

    Attributes:
        found: what was measured.
        fits: of the last block's gradient on depth, by place.
        by_length: of Pre-LN's last gradient on the length of the stream that its final norm reads.
        expected: the exponent of one over that length on depth.
        start, gain: the mean square of that stream is about ``start`` + ``gain`` · L, by least squares.
    """

    found: DepthGradients
    fits: Mapping[Place, Fit]
    by_length: Fit
    expected: Fit
    start: float
    gain: float

    @classmethod
    def of(cls, found: DepthGradients) -> "StartView":
        lengths = found.lengths["pre"]
        gain, start = np.polyfit(found.depths, (lengths**2).mean(1), 1)
        return cls(
            found=found,
            fits={place: power_law(found.depths, found.last[place]) for place in PLACES},
            by_length=power_law(lengths.mean(1), found.last["pre"]),
            expected=power_law(found.depths, 1 / lengths),
            start=float(start),
            gain=float(gain),
        )

    def blocks(self, place: Place) -> np.ndarray:
        """The gradient of every block of the deepest models, the geometric mean over the seeds: [L]."""
        return _middle(self.found.by_block[place])

    def facts(self) -> dict[str, str]:
        """For prose. Errors are two standard errors."""
        said = {
            "deepest": str(self.found.depths.max()),
            "seeds": str(self.found.last["pre"].shape[1]),
            "tokens": str(self.found.n_tokens),
            "length_exponent": written(self.by_length.exponent, "2"),
            "length_error": f"{2 * self.by_length.error:.2f}",
            "expected": written(self.expected.exponent, "2"),
            "start": f"{self.start:.1f}",
            "gain": f"{self.gain:.2f}",
        }
        for place, fit in self.fits.items():
            blocks = self.blocks(place)
            said |= {
                f"{place}_exponent": written(fit.exponent, "2"),
                f"{place}_theory": _theory(place),
                f"{place}_blocks": ratio(float(blocks[0] / blocks[-1])),
            }
        return said

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows of :meth:`table`."""
        return tuple(f"L = {depth}" for depth in self.found.depths)

    def table(self) -> np.ndarray:
        """[N, 2 S]: the last block's gradient of every model, first of Pre-LN."""
        return np.concatenate([self.found.last[place] for place in PLACES], axis=1)


def draw_start(view: StartView, words: Words) -> Plot:
    """The last block's gradient by depth on logarithmic scales: a mark for each model, the fit, and theory."""
    depths = view.found.depths
    line = np.array([depths.min(), depths.max()], dtype=float)
    ends = np.log10([line[0] / 1.15, line[1] * 1.15]).tolist()
    figure = axes(words("depth"), words("w2_gradient"), level={"type": "log", "range": ends}, type="log")
    look: dict[str, Any] = {"at": "L = {:g}", "written": partial(written, how="4")}
    for place in PLACES:
        values, fit, hue = view.found.last[place], view.fits[place], COLORS[place]
        models = np.repeat(depths, values.shape[1])
        marks: dict[str, Any] = {"symbol": SYMBOLS[place], "mode": "markers", "showlegend": False}
        curve(figure, models, values.ravel(), NAMES[place], hue, **look, **marks)
        name = f"{NAMES[place]}: {written(fit.exponent, '2')} ± {2 * fit.error:.2f}"
        curve(figure, line, fit.at(line), name, hue, **look)
        # Through the middle of the measurements, as theory gives no factor.
        center = float(np.exp(np.log(values).mean() - THEORY[place] * np.log(depths).mean()))
        law = center * line ** THEORY[place]
        curve(figure, line, law, f"{words('theory')}: {_theory(place)}", hue, dash="dot", width=1.5, **look)
    return Plot("norm_placement.start", figure, words("start_alt"), view, own=False)


def draw_by_block(view: StartView, words: Words) -> Plot:
    """The gradient of every block of the deepest models, in a band from the least seed to the largest."""
    figure = axes(words("block"), words("w2_gradient"), rangemode="tozero")
    look: dict[str, Any] = {"at": f"{words('block')} {{:g}}", "written": partial(written, how="4")}
    for place in PLACES:
        values = view.found.by_block[place]
        blocks = np.arange(len(values))
        band(figure, blocks, values.min(1), values.max(1), COLORS[place])
        curve(figure, blocks, view.blocks(place), NAMES[place], COLORS[place], symbol=SYMBOLS[place], **look)
    return Plot("norm_placement.by_block", figure, words("by_block_alt"), view, own=False)


def _middle(values: np.ndarray) -> np.ndarray:
    """The geometric mean over the seeds: [N, S] -> [N]."""
    return np.asarray(np.exp(np.log(values).mean(1)))


def _theory(place: Place) -> str:
    return written(THEORY[place], "1") if THEORY[place] else "0"


class Law(NamedTuple):
    """A fitted power law, and the exponent that a theorem's bound has."""

    fit: Fit
    theory: float


EXPONENT: Verdict[Law] = Verdict(
    "norm_placement.exponent",
    Claim("agrees", lambda law: abs(law.fit.exponent - law.theory) <= 2 * law.fit.error),
    Claim("differs", lambda law: abs(law.fit.exponent - law.theory) > 2 * law.fit.error),
)


class Across(NamedTuple):
    """A gradient in the first block and in the last."""

    first: float
    last: float


BLOCKS: Verdict[Across] = Verdict(
    "norm_placement.blocks",
    Claim("falls", lambda across: across.first > across.last),
    Claim("rises", lambda across: across.first < across.last),
)
