"""A part of every block left out: the division of the scores, positions, the mask, the additions, the norms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.config import NoNorm, NoPosition
from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures.ablations import SeriesView
from viz_model.topics.ablations.sections.base import Lab, Measure
from viz_model.topics.block.pictures import depth
from viz_model.topics.norm_placement.numbers import twins

CLEAR = 0.05
"""Differences of entropies (bits) or of cosines up to here count as none."""


def _percent(share: float) -> str:
    return f"{share:.0%}"


class Part(Measure):
    """A part left out everywhere, in every stack."""

    def fits(self, lab: Lab, edit: Edit) -> bool:
        return isinstance(edit, self.edit)


class Scale(Part):
    """Without ÷√dₖ: how sharp is a head's pattern?"""

    name, edit, options = "scale", edits.NoScale, ("sharper", "flatter", "same")

    def missing(self, lab: Lab) -> str | None:
        return super().missing(lab) or (None if lab.plain.config.scale_scores else "no_scale")

    def ask(self, lab: Lab) -> dict[str, object]:
        root = lab.plain.config.d_head**0.5
        entropy = float(np.nanmean(self.values(lab, lab.plain, None)))
        return {
            "head": lab.head,
            "layer": lab.layer,
            "d_head": lab.plain.config.d_head,
            "root": f"{root:.2f}",
            "ratio": f"{np.exp(root):,.0f}",
            "before": f"{entropy:.2f}",
        }

    def make(self, lab: Lab, guess: str | None) -> Edit:
        return edits.NoScale()

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        return breaking.row_entropies(trace, lab.layer, lab.head)

    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> SeriesView:
        return SeriesView(lab.labels, series, lab.plain.full_name(lab.stage.at("attn.pattern")))

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.stage.t("common.axis_query"), lab.words("axis_entropy")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        means = float(np.nanmean(before)), float(np.nanmean(after))
        gap = means[1] - means[0]
        outcome = "sharper" if gap < -CLEAR else "flatter" if gap > CLEAR else "same"
        return outcome, {"after": f"{means[1]:.2f}"}


class Position(Part):
    """Without positions: does the head that looks one place back still find its place?"""

    name, edit, options = "position", edits.NoPosition, ("loses", "keeps")
    most = 16

    def missing(self, lab: Lab) -> str | None:
        return super().missing(lab) or ("no_position" if isinstance(lab.plain.config.position, NoPosition) else None)

    def ask(self, lab: Lab) -> dict[str, object]:
        shares = self._shares(lab, lab.plain)
        layer, head = self._heads(lab)[0]
        even = float(breaking.even_previous(lab.plain, layer))
        return {
            "head": head,
            "layer": layer,
            "before": _percent(shares[layer, head]),
            "even": _percent(even),
            "enters": lab.words(f"enters_{lab.plain.config.position.acts_on}"),
        }

    def make(self, lab: Lab, guess: str | None) -> Edit:
        return edits.NoPosition()

    def _shares(self, lab: Lab, trace: Trace) -> np.ndarray:
        return lab.once(self.name, trace, lambda: breaking.previous_shares(trace))

    def _heads(self, lab: Lab) -> list[tuple[int, int]]:
        """The heads that look one place back most, in falling order."""
        shares = self._shares(lab, lab.plain)
        order = np.argsort(-shares, axis=None, kind="stable")[: self.most]
        return [(int(n) // shares.shape[1], int(n) % shares.shape[1]) for n in order]

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        shares = self._shares(lab, trace)
        return np.array([shares[layer, head] for layer, head in self._heads(lab)])

    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> SeriesView:
        return SeriesView(tuple(f"{layer}.{head}" for layer, head in self._heads(lab)), series, "attn.pattern", (0,))

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.words("axis_heads"), lab.words("axis_previous")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        outcome = "loses" if after[0] < before[0] / 2 else "keeps"
        return outcome, {"after": _percent(after[0])}


class Mask(Part):
    """Without the mask: how much attention goes to the future?"""

    name, edit, options = "mask", edits.NoMask, ("little", "some", "most")

    def missing(self, lab: Lab) -> str | None:
        return super().missing(lab) or (None if lab.plain.stack.side == "decoder" else "no_mask")

    def ask(self, lab: Lab) -> dict[str, object]:
        n = len(lab.plain)
        even = np.mean([(n - 1 - query) / n for query in range(n - 1)])
        return {"even": _percent(float(even))}

    def make(self, lab: Lab, guess: str | None) -> Edit:
        return edits.NoMask(side="decoder" if len(lab.plain.config.sides) > 1 else None)

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        return lab.once(self.name, trace, lambda: breaking.future_shares(trace))

    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> SeriesView:
        return SeriesView(tuple(map(str, range(lab.plain.n_layers))), series, "attn.pattern")

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.words("axis_layer"), lab.words("axis_future")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        share = float(after.mean())
        return "little" if share < 0.1 else "some" if share <= 0.5 else "most", {"after": _percent(share)}


class ByDepth(Part):
    """A measure of the stream at every depth."""

    is_line = True

    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> SeriesView:
        return SeriesView(tuple(map(depth.short, twins.stream_sites(lab.plain))), series, "resid")


class Residual(ByDepth):
    """Without the additions: how alike do the tokens become?"""

    name, edit, options = "residual", edits.NoResidual, ("alike", "apart", "same")

    def missing(self, lab: Lab) -> str | None:
        return super().missing(lab) or (None if lab.plain.config.residual else "no_residual")

    def ask(self, lab: Lab) -> dict[str, object]:
        return {"before": f"{self.values(lab, lab.plain, None)[-1]:.2f}", "n_layers": lab.plain.n_layers}

    def make(self, lab: Lab, guess: str | None) -> Edit:
        return edits.NoResidual()

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        return lab.once(self.name, trace, lambda: twins.stream_similarity(trace))

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.words("axis_depth"), lab.words("axis_similarity")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        gap = after[-1] - before[-1]
        return "alike" if gap > CLEAR else "apart" if gap < -CLEAR else "same", {"after": f"{after[-1]:.2f}"}


class Norm(ByDepth):
    """Without the norms: how long do the vectors of the stream become?"""

    name, edit, options, least = "norm", edits.NoNorm, ("longer", "shorter", "same"), 1

    def missing(self, lab: Lab) -> str | None:
        return "no_norm" if isinstance(lab.plain.config.norm, NoNorm) else None

    def ask(self, lab: Lab) -> dict[str, object]:
        lengths = self.values(lab, lab.plain, None)
        return {"first": f"{lengths[0]:,.1f}", "before": f"{lengths[-1]:,.1f}", "n_layers": lab.plain.n_layers}

    def make(self, lab: Lab, guess: str | None) -> Edit:
        return edits.NoNorm()

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        return lab.once(self.name, trace, lambda: breaking.lengths_by_depth(trace))

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.words("axis_depth"), lab.words("axis_length")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        last = float(after[-1])
        if not np.isfinite(last) or last > 2 * before[-1]:
            outcome = "longer"
        else:
            outcome = "shorter" if last < before[-1] / 2 else "same"
        return outcome, {"after": f"{last:,.1f}" if np.isfinite(last) else "∞"}
