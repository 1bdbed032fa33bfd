"""Which part of a model takes which share of the multiplications, of a text and of texts 10 and 100 times as long."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig, Side
from viz_model.drawing import stacked
from viz_model.drawing.digits import big, percent
from viz_model.drawing.scene import Scene
from viz_model.drawing.stacked import Group, Part
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.cost.counted import count, crossings, visible

FACTORS = (1, 10, 100)
"""Texts that long, in lengths of the visitor's."""
ROLES = {"projections": "query", "pairs": "pattern", "cross": "key", "ffn": "ffn", "head": "token"}
"""The parts that are told apart: scores and mixing are one."""

SHARE: Verdict[float] = Verdict(
    "cost.share", Claim("few", lambda share: share < 0.1), Claim("most", lambda share: share > 0.5)
)
"""Of the share that comparing tokens with each other has in all multiplications of a text."""


class SharesView(NamedTuple):
    """Multiplications of a text of n tokens and of longer ones: by part, each [3].

    Parts that the model does not have are left out.
    """

    lengths: tuple[int, ...]
    parts: Mapping[str, np.ndarray]
    total: np.ndarray

    @classmethod
    def of(cls, config: ModelConfig, side: Side, length: int, n_source: int = 0) -> "SharesView":
        runs = [count(config, side, length * by, n_source * by) for by in FACTORS]
        parts = {name: np.array([float(getattr(run, name)) for run in runs]) for name in ROLES}
        parts = {name: values for name, values in parts.items() if values[0]}
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
            said[f"share{at}"] = percent(self.share("pairs", at))
            said[f"total{at}"] = big(self.total[at])
        head = self.parts.get("head", np.zeros(1))[0]
        return {**said, "blocks": big(self.total[0] - head), "head": big(head)}

    def rows(self) -> list[tuple[str, list[str]]]:
        """For a table: each part's multiplications at the three lengths, and the sum as "total"."""
        named = [*self.parts.items(), ("total", self.total)]
        return [(name, [big(value) for value in values]) for name, values in named]


def n_source(look: Look) -> int:
    """How many vectors cross-attention reads; 0 where there is none."""
    return len(look.trace.ids) if len(look.config.sides) > 1 and look.trace.stack.side == "decoder" else 0


def view(look: Look) -> SharesView:
    return look.once(
        lambda look: SharesView.of(look.config, look.trace.stack.side, len(look), n_source(look)), "shares"
    )


def facts(look: Look) -> dict[str, str]:
    """Of the shares, and of the lengths from which on the pairs cost more."""
    passes = crossings(look.config, look.trace.stack.side)
    return {**view(look).facts(), "passes": f"{passes.ffn:,.0f}", "block": f"{passes.block:,.0f}"}


def draw(look: Look) -> Scene:
    """A bar a length, cut into the parts' shares."""
    found, words = view(look), look.words
    parts = [Part(words(name), ROLES[name]) for name in found.parts]
    shares = np.stack([values / found.total for values in found.parts.values()], -1)  # [3, P]
    said = [
        [f"{part.name}\n{shares[r, p]:.2%}\n{big(float(values[r]))}" for p, (part, values) in enumerate(named)]
        for named in [list(zip(parts, found.parts.values(), strict=True))]
        for r in range(len(FACTORS))
    ]
    rows = [f"{n:,} {words('tokens')}" for n in found.lengths]
    group = Group("", rows, shares, said)
    scene = stacked.scene("cost.shares", words("shares_alt"), parts, [group], words("share"), row=40.0, is_written=True)
    return look.drawn(scene)


def tell(look: Look) -> Iterator[Line]:
    config, side, found, said = look.config, look.trace.stack.side, view(look), facts(look)
    yield look.text("see", **said, model=literal(look.trace.name or ""))
    if "cross" in found.parts:
        yield look.text("see_cross", **said)
    yield look.text("counted", **said, context=f"{config.n_context:,}", pairs=_share_of_pairs(look, len(look)))
    windows = sorted({config.window(side, layer) for layer in range(look.n_layers)} - {0})
    if windows:
        saved = _share_of_pairs(look, found.lengths[-1])
        yield look.text("windows", windows=look.listed(map(str, windows)), n=found.facts()["n2"], saved=saved)


def _share_of_pairs(look: Look, length: int) -> str:
    config, side = look.config, look.trace.stack.side
    return f"{visible(config, side, length) / count(config, side, length).pairs:.0%}"
