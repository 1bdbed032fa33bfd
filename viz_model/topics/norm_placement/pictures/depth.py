"""The residual stream by depth: how long its vectors are, whose work they are, and how alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, curves, theme
from viz_model.drawing import by_depth as depth
from viz_model.drawing.sheet import Sheet
from viz_model.topics.norm_placement.numbers.readings import Readings
from viz_model.topics.norm_placement.pictures.look import COLOURS, HEIGHT, MARGIN, NAMES, ratio, stream, style

Words = Mapping[str, str]


class DepthView(NamedTuple):
    """The residual stream at S depths, by place of the norm.

    Attributes:
        readings: of each model on the text.
        untrained: of the same models with weights as drawn, before any training, where they were measured.
        token: the position that is looked at, if one is.
        level: √D, the length that division by σ gives; None where the norms bring vectors to no length.
    """

    readings: Mapping[str, Readings]
    untrained: Mapping[str, Readings]
    token: int | None
    level: float | None

    @property
    def sites(self) -> tuple[str, ...]:
        return next(iter(self.readings.values())).sites

    @property
    def is_wide(self) -> bool:
        """Whether the lengths need a logarithmic scale."""
        return depth.is_wide(self._lengths)

    @property
    def _lengths(self) -> np.ndarray:
        medians = [np.median(lengths, 1) for found in self.readings.values() for lengths in (found.before, found.after)]
        return np.concatenate([*medians, *(found.before[:, self.token].ravel() for found in self.readings.values())])

    def facts(self, place: str) -> dict[str, str]:
        """For prose: medians over the tokens at both ends."""
        found, fresh = self.readings[place], self.untrained.get(place)
        before, after = np.median(found.before, 1), np.median(found.after, 1)
        shares = np.median(found.share[1:], axis=1)
        return {
            "level": "" if self.level is None else f"{self.level:.1f}",
            "first": f"{before[0]:.1f}",
            "last": f"{before[-1]:.1f}",
            "growth": f"×{ratio(float(before[-1] / (before[0] or 1.0)))}",
            "read_first": f"{after[0]:.1f}",
            "read_last": f"{after[-1]:.1f}",
            "shares": f"{shares.min():.0%}–{shares.max():.0%}".replace("-0%", "0%"),
            "alike": f"{found.alike[-1]:.2f}",
            "alike_before": f"{found.alike_before[-1]:.2f}",
            "alike_first": f"{found.alike[0]:.2f}",
            "alike_fresh": f"{fresh.alike[-1]:.2f}" if fresh else "",
        }

    def table(self) -> dict[str, np.ndarray]:
        """[S] a column: medians over the tokens, the token that is looked at, and how alike the tokens are."""
        columns: dict[str, np.ndarray] = {}
        for place, found in self.readings.items():
            columns |= {
                f"{place}.before": np.median(found.before, 1),
                f"{place}.token": found.before[:, self.token].reshape(len(found.sites)),
                f"{place}.after": np.median(found.after, 1),
                f"{place}.share": np.median(found.share, 1),
                f"{place}.alike_before": found.alike_before,
                f"{place}.alike": found.alike,
            }
            if place in self.untrained:
                columns[f"{place}.untrained"] = self.untrained[place].alike
        return columns


def draw_lengths(view: DepthView, axis: str, words: Words, label: str = "") -> Sheet:
    """‖r‖ by depth, medians: full as the addition leaves it, dotted as the next reader gets it; points for a token.

    ``words`` has "after"; ``label`` is the token's.
    """
    figure = Sheet()
    for place, found in view.readings.items():
        _line(figure, view, place, np.median(found.before, 1), NAMES[place])
        _line(figure, view, place, np.median(found.after, 1), f"{NAMES[place]}, {words['after']}", dotted=True)
        if view.token is not None:
            ring, hover, name = {"color": COLOURS[place], "width": 1}, "<b>%{y:.2f}</b>", f"{NAMES[place]}, {label}"
            where, lengths = list(range(len(view.sites))), found.before[:, view.token]
            curves.points(figure, where, lengths, "#fff", size=5, ring=ring, hover=hover, extra=name)
    if view.level is not None:
        curves.level(figure, view.level, f"√D = {view.level:.1f}", curves.Style(theme.ROLES["norm"], "dash", width=1))
    return _finished(figure, view, axis, **depth.scale(view._lengths))


def draw_shares(view: DepthView, axis: str) -> Sheet:
    """The share of what the next reader gets that each sub-layer has just added: the median over the tokens."""
    figure = Sheet()
    for place, found in view.readings.items():
        _line(figure, view, place, np.median(found.share, 1), NAMES[place], digits=".0%")
    axes.zero(figure, "y")
    return _finished(figure, view, axis, tickformat=".0%")


def draw_similarity(view: DepthView, axis: str, words: Words) -> Sheet:
    """Mean cosine between different tokens by depth, on the scale from none to complete collapse.

    Dotted, and named ``words["untrained"]``: before any training.
    """
    figure = Sheet()
    for place, found in view.readings.items():
        _line(figure, view, place, found.alike, NAMES[place], digits=".3f")
    for place, found in view.untrained.items():
        _line(figure, view, place, found.alike, f"{NAMES[place]}, {words['untrained']}", digits=".3f", dotted=True)
    drawn = [found.alike for found in (*view.readings.values(), *view.untrained.values())]
    return _finished(figure, view, axis, range=[min(0.0, float(np.nanmin(drawn))) - 0.02, 1.02])


def _finished(figure: Sheet, view: DepthView, axis: str, **scale: object) -> Sheet:
    stream(figure, view.sites)
    axes.upward(figure, axis, grid=True, **scale)
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")


def _line(
    figure: Sheet,
    view: DepthView,
    place: str,
    values: np.ndarray | Sequence[float],
    name: str,
    *,
    digits: str = ".2f",
    dotted: bool = False,
) -> None:
    """A line by depth, dotted or with its marks."""
    curves.line(
        figure,
        list(range(len(view.sites))),
        values,
        style(place, "dot", 1.5) if dotted else style(place, width=2.5),
        name=name,
        marks=0 if dotted else 8 if len(view.sites) <= 20 else 5,
        hover=f"%{{customdata}}<br><b>%{{y:{digits}}}</b>",
        extra=name,
        customdata=list(view.sites),
    )
