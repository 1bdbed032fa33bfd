"""The whole distribution in falling order, and what each filter keeps of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Series, Text
from viz_model.drawing.tables import Among, Each, Phrase, Scaled
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.runs.generation import Sampling
from viz_model.topics.next_token import asked as asking
from viz_model.topics.next_token.asked import KEPT, ChoiceView

RANKS_DRAWN = 160
"""Ranks at which a curve is drawn, evenly on a logarithmic axis: between them it only falls."""
LOWEST = -12.0
"""The power of ten below which a probability is no longer drawn."""
UPPER, LOWER, LEFT = 252.0, 178.0, 72.0
"""Pixels of the two plots, and in front of them."""


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
    moved: float
    halves: tuple[int, int]

    @classmethod
    def of(cls, view: ChoiceView, sampling: Sampling) -> TailView:
        """The whole of a choice that was made with ``sampling``."""
        logits = view.logits.astype(np.float64)
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
                n_kept = view.whole.n_kept
                cuts.append(Cut("top_p", n_kept, float(mass[n_kept - 1])))
        even = np.geomspace(1, n, min(n, RANKS_DRAWN)).round().astype(int)
        # As many of every position: the last kept token and the first that is not stand twice where they are even.
        ranks = np.sort([*even, *(cut.n_kept for cut in cuts), *(min(n, cut.n_kept + 1) for cut in cuts)])
        halves = tuple(int((np.cumsum(p) < 0.5).sum()) + 1 for p in (10**at_one, probs))
        moved, at = float(np.abs(probs - 10**at_one).sum() / 2), ranks - 1
        return cls(ranks, at_one[at], at_temperature[at], mass[at], tuple(cuts), moved, (halves[0], halves[1]))

    def rows(self) -> list[tuple[str, int, float, int, float]]:
        """Of each filter its name, what it keeps (tokens, mass), and what it drops of what was left."""
        found, n, mass = [], int(self.ranks[-1]), 1.0
        for cut in self.cuts:
            found.append((cut.name, cut.n_kept, cut.mass, n - cut.n_kept, max(0.0, mass - cut.mass)))
            n, mass = cut.n_kept, cut.mass
        return found


def _log10_softmax(logits: np.ndarray) -> np.ndarray:
    """log₁₀ of the softmax of [V] logits in double precision, which has no smallest probability."""
    shifted = logits - logits.max()
    return np.asarray((shifted - np.log(np.exp(shifted).sum())) / np.log(10))


def views(look: Look) -> list[TailView]:
    """At each token that tables hold."""
    return [TailView.of(one, asking.sampling(look)) for one in asking.whole(look)]


def facts(look: Look) -> dict[str, Any]:
    found, every = asking.asked(look), views(look)
    return asking.facts(look) | {
        "moved": found.by(np.array([one.moved for one in every]), "percent"),
        "half_one": found.by(np.array([one.halves[0] for one in every]), "whole"),
        "half": found.by(np.array([one.halves[1] for one in every]), "whole"),
    }


def title(look: Look) -> Iterator[Line]:
    yield Line(asking.asked(look).look.claim_label(KEPT, asking.kept(look), "token", **facts(look)), "title")


def tell(look: Look) -> Iterator[Line]:
    shared, temperature = look.of("next_token"), asking.sampling(look).temperature
    name = "greedy" if temperature == 0 else "one" if temperature == 1 else "other"
    yield shared.text(f"tail_{name}", **facts(look))
    yield from _table(look)
    yield shared.text("tail_read")


def _table(look: Look) -> Iterator[Line]:
    """What each filter keeps and drops."""
    found, words = asking.asked(look), look.of("next_token").words
    every = [one.rows() for one in views(look)]
    columns = (str(words(f"tail_column_{name}")) for name in ("filter", "kept", "dropped"))
    lines, values = [f"| {' | '.join(columns)} |", "|---|---:|---:|"], {}
    for k, (name, *_) in enumerate(every[0]):
        for n, write in ((1, "whole"), (2, "percent"), (3, "whole"), (4, "percent")):
            values[f"v{k}{n}"] = found.by(np.array([rows[k][n] for rows in every], float), write)
        lines.append(f"| {words(name)} | {{{{v{k}1}}}} · {{{{v{k}2}}}} | {{{{v{k}3}}}} · {{{{v{k}4}}}} |")
    if values:
        yield Line(Phrase("\n".join(lines), values))


def draw(look: Look) -> Scene:
    """Probability by rank on logarithmic axes, and below it how much the tokens up to there hold together.

    What is kept is a thick line, what is dropped a gray one.
    """
    found, shared, how = asking.asked(look), look.of("next_token").words, asking.sampling(look)
    every, known, n_vocab = views(look), facts(look), asking.asked(look).here.whole.n_vocab

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(one, name) for one in every])

    ranks, model, probs, mass = (stacked(name) for name in ("ranks", "model", "probs", "mass"))
    n_kept = np.array([one.cuts[-1].n_kept if one.cuts else n_vocab for one in every])[:, None]
    lowest = max(LOWEST, float(min(model.min(), probs.min())) - 0.3)
    x = chart.Axis(10**-0.06, n_vocab * 1.15, shared("tail_rank"), is_log=True)
    upper, marks = chart.plot(
        x._replace(title=""), chart.Axis(10**lowest, 1.0, shared("tail_p"), "share", True), UPPER, left=LEFT
    )
    lower, below = chart.plot(x, chart.Axis(0, 1.04, shared("tail_mass"), "%0"), LOWER, left=LEFT)
    lower = lower._replace(top=lower.top + UPPER, bottom=lower.bottom + UPPER)
    marks += chart.lower(below, UPPER, "mass.")
    at, p, sums = found.by(ranks.astype(np.float32)), found.by(10**probs), found.by(mass)
    told: dict[str, Any] = {
        "rank": found.by(ranks, "whole"),
        "p": found.by(10**probs, "percent"),
        "mass": found.by(mass, "percent"),
    }
    if how.temperature not in (0, 1):
        marks.append(_line("model", upper, at, found.by(10**model), stroke="ink", thick=1.5, dash="2px,3px"))
    looks: dict[str, dict[str, Any]] = {
        "dropped": {"stroke": "muted", "thick": 2},
        "kept": {"stroke": "output", "thick": 4},
    }
    # The last kept token begins the dropped ones too, so that the line has no gap.
    parts = {"dropped": ranks >= n_kept, "kept": ranks <= n_kept}
    if not (n_kept < n_vocab).any():
        del parts["dropped"]
    for name, where in parts.items():
        seen = found.by(where.astype(np.uint8))
        for on, values in ((upper, p), (lower, sums)):
            marks.append(_line(f"{name}.{on.top}", on, at, Scaled(values, 1.0, seen), **looks[name]))
    for k, cut in enumerate(every[0].cuts):
        marks += _cut(look, k, cut.name, every, (upper, lower))
    says: Any = Each(
        f"{shared('tail_rank')} {{{{rank}}}}\n{shared('tail_p')} {{{{p}}}}\n{shared('tail_mass')} {{{{mass}}}}", told
    )
    points: Any = {"x": upper.at_x(at), "y": upper.at_y(p)}
    marks.append(Items(id="points", labels=says, fill="output", **points))
    names = {name: shared(f"tail_{name}", **known) for name in parts}
    keys = [chart.line_key(names[name], looks[name]["stroke"], "", thick=looks[name]["thick"]) for name in parts]
    if how.temperature not in (0, 1):
        keys.append(chart.line_key(shared("tail_model"), "ink", "", thick=1.5, dash="2px,3px"))
    series = [
        Series(str(shared("tail_p")), found.by(ranks, "whole"), p),
        Series(str(shared("tail_mass")), found.by(ranks, "whole"), sums),
    ]
    panel = Panel(id="tail", marks=marks, height=UPPER + LOWER)
    scene = Scene(id=f"{look.topic}.tail", panels=[panel], title=shared("tail_alt", **known), keys=keys, series=series)
    return found.look.drawn(scene, ("probs",))


def _line(id: str, on: chart.Plot, x: Any, y: Any, **look: Any) -> Mark:
    return Path(id=id, x=on.at_x(x), y=on.at_y(y), **look)


def _cut(look: Look, k: int, name: str, every: list[TailView], plots: tuple[chart.Plot, chart.Plot]) -> Iterator[Mark]:
    """Where a filter cuts, and how much it leaves."""
    found, n_vocab = asking.asked(look), float(every[0].ranks[-1])
    n_kept, mass = (np.array([getattr(one.cuts[k], field) for one in every], float) for field in ("n_kept", "mass"))
    # The cut lies between the last token that is kept and the first that is not.
    at = found.by(np.where(n_kept < n_vocab, n_kept + 0.5, n_kept))
    for on in plots:
        yield Rect(
            id=f"cut.{k}.{on.top}", x=on.at_x(at), y=on.top, width=1, height=on.bottom - on.top, fill="ink", opacity=0.7
        )
    anchor: Any = Among(("start", "end"), found.by((n_kept >= n_vocab**0.6).astype(int)))
    said = look.of("next_token").words(f"tail_{name}", n=found.by(n_kept, "whole"))
    yield Text(id=f"cut.{k}", text=said, x=plots[0].at_x(at), y=plots[0].top + 10 + 17 * k, anchor=anchor)
    yield Rect(id=f"left.{k}", x=plots[1].left, y=plots[1].at_y(found.by(mass)), width=plots[1].across, height=1,
        fill="output", opacity=0.6)  # fmt: skip
