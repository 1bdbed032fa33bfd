"""How probable drawn tokens were, in the colour of how often their run had stood there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover, percent
from viz_model.runs.generation import Step
from viz_model.topics.next_token.numbers.repetition import Repetition

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
    def means(self) -> tuple[float | None, ...]:
        """The mean probability by how often it was: new, a second time, more; None of no tokens."""
        return tuple(self.found.mean(*times) for times in TIMES.values())

    def facts(self) -> dict[str, str]:
        """For prose; a mean of no tokens is a dash."""
        means = zip(TIMES, self.means, strict=True)
        return {
            "n": str(len(self.labels)),
            "n_repeated": str(self.found.n_repeated),
            "most": str(int(self.found.times.max(initial=1))),
            **{f"p_{name}": "–" if p is None else percent(p) for name, p in means},
        }


def draw_repetition(view: RepetitionView, names: Mapping[str, str]) -> sheet.Sheet:
    """A bar for each drawn token, as high as its probability, in the colour of how often its run has stood there.

    ``names`` holds "p", "draw", "time" and the keys of :data:`TIMES`.
    """
    figure, colour = sheet.Sheet(), theme.ROLES["output"]
    fills = {"first": theme.rgba(theme.ROLES["token"], 0.45), "second": theme.rgba(colour, 0.5), "more": colour}
    every = [
        hover(f"#{n} {label}", (names["p"], percent(float(p))), f"{names['time']} {time}")
        for n, (label, p, time) in enumerate(zip(view.labels, view.found.probs, view.found.times, strict=True), 1)
    ]
    for name, times in TIMES.items():
        among = np.flatnonzero(view.found.among(*times))
        if len(among):
            hovers = [every[n] for n in among]
            bars.upward(figure, view.found.probs[among], fills[name], columns=among + 1, name=names[name], hover=hovers)
    figure.update_layout(barmode="overlay", bargap=0.15)
    axes.across(figure, names["draw"], small=True, range=[0.4, len(every) + 0.6])
    axes.upward(figure, names["p"], grid=True, small=True, range=[0, 1.03], tickformat=".0%", nticks=5)
    return theme.finished(figure, height=300, margin={"t": 30}, legend="above")
