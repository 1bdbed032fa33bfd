"""Which part of a model takes which share of the multiplications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.config import ModelConfig, Side
from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import big, hover
from viz_model.topics.cost.numbers import counted as cost
from viz_model.topics.cost.pictures.common import FACTORS, SHARES, STYLES, Words, amounts


class SharesView(NamedTuple):
    """Multiplications of a text of n tokens and of longer ones: by part, each [3].

    Parts that the model does not have are left out.
    """

    lengths: tuple[int, ...]
    parts: Mapping[str, np.ndarray]
    total: np.ndarray

    @classmethod
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> SharesView:
        runs = [amounts(cost.count(config, side, length * by, n_source * by)) for by in FACTORS]
        parts = {name: np.array([float(run[name]) for run in runs]) for name in SHARES if runs[0][name]}
        return cls(tuple(length * by for by in FACTORS), parts, np.sum(list(parts.values()), axis=0))

    def share(self, part: str, at: int) -> float:
        return float(self.parts[part][at] / self.total[at])

    def facts(self) -> dict[str, str]:
        """For prose: ``n0``, ``share0``, ``total0`` of the text itself, then of those 10 and 100 times as long."""
        said = {"growth1": f"{self.total[1] / self.total[0]:,.1f}", "growth2": f"{self.total[2] / self.total[0]:,.0f}"}
        for at in (1, 2):
            for name in ("pairs", "cross"):
                if name in self.parts:
                    times = float(self.parts[name][at] / self.parts[name][0])
                    said[f"{name}{at}"] = f"{times:,.0f}" if times == round(times) or times >= 1000 else f"{times:.3g}"
        for at, length in enumerate(self.lengths):
            said[f"n{at}"] = f"{length:,}"
            said[f"share{at}"] = f"{self.share('pairs', at):.1%}"
            said[f"total{at}"] = big(self.total[at])
        head = self.parts.get("head", np.zeros(1))[0]
        return {**said, "blocks": big(self.total[0] - head), "head": big(head)}

    def rows(self) -> list[tuple[str, list[str]]]:
        """For a table: each part's multiplications at the three lengths, and the sum as "total"."""
        named = [*self.parts.items(), ("total", self.total)]
        return [(name, [big(value) for value in values]) for name, values in named]


def draw_shares(view: SharesView, words: Words) -> sheet.Sheet:
    """A bar a length, cut into the parts' shares. ``words`` names the parts, "tokens" and "share"."""
    figure = sheet.Sheet()
    for name, values in view.parts.items():
        shares = values / view.total
        bars.across(
            figure,
            100 * shares,
            STYLES[name].colour,
            width=None,
            name=words[name],
            inside=[f"{share:.0%}" if share >= 0.07 else "" for share in shares],
            hover=[
                hover(("", words[name]), f"{share:.2%}", big(value))
                for share, value in zip(shares, values, strict=True)
            ],
        )
    bars.stacked(figure, 0.25)
    axes.across(figure, words["share"], small=True, range=[0, 100], ticksuffix="%")
    axes.rows(figure, [f"{n:,} {words['tokens']}" for n in view.lengths], small=True, edge=0.5)
    # Bars are squeezed by a legend of many lines: room for five.
    return theme.finished(figure, height=290, legend="above")
