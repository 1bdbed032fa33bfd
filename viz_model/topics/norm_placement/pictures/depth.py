"""The residual stream by depth: how long its vectors are, and how alike."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.drawing import axes, curves, theme
from viz_model.drawing.sheet import Sheet
from viz_model.topics.block.pictures import depth
from viz_model.topics.norm_placement.pictures.look import HEIGHT, MARGIN, NAMES, Numbers, ratio, stream, style


class DepthView(NamedTuple):
    """The residual stream at S depths.

    ``middle`` is the median of ‖r‖ over the tokens, ``token`` that of the selected one, ``similarity``
    the mean cosine of the tokens' pairs (NaN where there is no pair): each [S] a model.
    ``untrained`` is that of the same models with weights as drawn, before any training, where it was
    measured. ``level`` is √D, the length that a norm with γ = 1 and no shift gives every vector;
    None where the norms bring vectors to no length.
    """

    sites: tuple[str, ...]
    middle: Numbers
    token: Numbers
    similarity: Numbers
    label: str
    level: float | None
    untrained: Numbers

    def trend(self, side: str) -> Literal["grows", "level", "shrinks"]:
        """Level: ends within a fifth of the length it began with."""
        change = self._growth(side)
        return "grows" if change > 1.2 else "shrinks" if change < 1 / 1.2 else "level"

    def _growth(self, side: str) -> float:
        return float(self.middle[side][-1] / (self.middle[side][0] or 1.0))

    @property
    def is_wide(self) -> bool:
        """Whether the lengths need a logarithmic scale."""
        return depth.is_wide(self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        """All that are drawn."""
        level = [] if self.level is None else [np.array([self.level])]
        return np.concatenate([*self.middle.values(), *self.token.values(), *level])

    def facts(self) -> dict[str, str]:
        """For prose: how much longer the stream gets, and how alike its tokens end.

        The values of keys in ``_word`` name a text.
        """
        said: dict[str, str] = {} if self.level is None else {"level": f"{self.level:.1f}"}
        for side, middle in self.middle.items():
            alike = self.similarity[side]
            said |= {
                f"{side}_first": f"{middle[0]:.1f}",
                f"{side}_last": f"{middle[-1]:.1f}",
                f"{side}_growth": ratio(self._growth(side)),
                f"{side}_trend_word": f"trend_{self.trend(side)}",
                f"{side}_alike_first": f"{alike[0]:.2f}",
                f"{side}_alike_peak": f"{alike.max():.2f}",
                f"{side}_alike": f"{alike[-1]:.2f}",
            }
        for side, fresh in self.untrained.items():
            said |= {f"{side}_fresh_first": f"{fresh[0]:.2f}", f"{side}_fresh": f"{fresh[-1]:.2f}"}
        if len(self.middle) < 2:
            return said
        more = "pre" if self.similarity["pre"][-1] >= self.similarity["post"][-1] else "post"
        less = "post" if more == "pre" else "pre"
        return said | {
            "more": NAMES[more],
            "less": NAMES[less],
            "more_alike": said[f"{more}_alike"],
            "less_alike": said[f"{less}_alike"],
        }

    def table(self) -> np.ndarray:
        """[S, 3 or 4 a model]: median length, the token's length, the similarity and the untrained one."""
        kinds = [self.middle, self.token, self.similarity, *([self.untrained] if self.untrained else [])]
        return np.stack([values[side] for side in self.middle for values in kinds], axis=1)


def draw_norms(view: DepthView, axis: str) -> go.Figure:
    """‖r‖ by depth: the median over the tokens in full lines, the selected token dotted."""
    figure = Sheet()
    for place in view.middle:
        _line(figure, view, place, view.middle[place], NAMES[place], ".2f")
        name = f"{NAMES[place]}, {theme.shorten(view.label)}"
        _line(figure, view, place, view.token[place], name, ".2f", dotted=True, showlegend=False)
    if view.level is not None:
        dashed = curves.Style(theme.ROLES["norm"], "dash", width=1)
        curves.level(figure, view.level, f"√D = {view.level:.1f}", dashed)
    stream(figure, view.sites)
    axes.upward(figure, axis, grid=True, **depth.scale(view.lengths))
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")


def draw_similarity(view: DepthView, axis: str, untrained: str) -> go.Figure:
    """Mean cosine between different tokens by depth, on the scale from none to complete collapse.

    Dotted, and named ``untrained``: before any training.
    """
    figure = Sheet()
    for place in view.similarity:
        _line(figure, view, place, view.similarity[place], NAMES[place], ".3f")
    for place, values in view.untrained.items():
        _line(figure, view, place, values, f"{NAMES[place]}, {untrained}", ".3f", dotted=True)
    drawn = (*view.similarity.values(), *view.untrained.values())
    lowest = min(0.0, *(float(np.nanmin(values)) for values in drawn))
    stream(figure, view.sites)
    axes.upward(figure, axis, grid=True, range=[lowest - 0.02, 1.02])
    return theme.finished(figure, height=HEIGHT, margin=MARGIN, legend="above")


def _line(
    figure: Sheet,
    view: DepthView,
    place: str,
    values: np.ndarray,
    name: str,
    digits: str,
    *,
    dotted: bool = False,
    showlegend: bool = True,
) -> None:
    """A line by depth, dotted or with its marks."""
    look = style(place, "dot", 1.5) if dotted else style(place, width=2.5)
    curves.line(
        figure,
        list(range(len(view.sites))),
        values,
        look,
        name=name,
        marks=0 if dotted else 8 if len(view.sites) <= 20 else 5,
        hover=f"%{{customdata}}<br><b>%{{y:{digits}}}</b>",
        extra=name,
        customdata=list(view.sites),
        showlegend=showlegend,
    )
