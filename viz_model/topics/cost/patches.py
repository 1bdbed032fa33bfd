"""What attention costs on a picture: the finer it is cut, the more pairs of patches; counted on what a model would
declare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from viz_model.config import ModelConfig
from viz_model.drawing.digits import percent
from viz_model.drawing.picture import ink
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.measures import patches
from viz_model.topics.cost.counted import Multiplications, count

SIZE, TOP = 112.0, 46.0
"""Pixels of a picture, and above it."""
ROLES = {"projections": "query", "pairs": "pattern", "ffn": "ffn"}
PARTS = tuple(ROLES)


class Cut(NamedTuple):
    """A picture in patches of a side: positions with [CLS], and multiplications of a run."""

    side: int
    n_positions: int
    counted: Multiplications


def cuts(config: ModelConfig, most: int = 5) -> tuple[Cut, ...]:
    """The model as it would be with patches of other sides, down to 2 pixels; its own is among them."""
    inputs = config.patches
    short = min(inputs.height, inputs.width)
    sides = [n for n in range(short // 2, 1, -1) if inputs.height % n == 0 == inputs.width % n]
    near = sorted(sides, key=lambda side: abs(side - inputs.patch))[:most]
    found = []
    for side in sorted({*near, inputs.patch}, reverse=True):
        other = replace(inputs, patch=side)
        n = other.n_patches + 1
        changed = replace(config, inputs=other, n_context=n)
        found.append(Cut(side, n, count(changed, "encoder", n)))
    return tuple(found)


def _own(look: Look) -> Cut:
    return next(cut for cut in cuts(look.config) if cut.side == look.config.patches.patch)


def facts(look: Look) -> dict[str, object]:
    own, finest = _own(look), cuts(look.config)[-1]
    return {
        "n": own.n_positions,
        "pairs": f"{own.n_positions**2:,}",
        "side": own.side,
        "share": percent(own.counted.pairs / own.counted.total),
        "finest": finest.side,
        "finest_n": finest.n_positions,
        "finest_pairs": f"{finest.n_positions**2:,}",
        "finest_share": percent(finest.counted.pairs / finest.counted.total),
        "times": f"{finest.counted.total / own.counted.total:,.1f}",
        "times_n": f"{finest.n_positions / own.n_positions:,.1f}",
        "times_pairs": f"{(finest.n_positions / own.n_positions) ** 2:,.0f}",
    }


def draw(look: Look) -> Scene:
    """A panel for each side of a patch; the bars show shares of all multiplications."""
    own, pixels = _own(look).side, patches.pixels(look.trace)
    panels = []
    for cut in cuts(look.config):
        cells = round(SIZE * cut.side / look.config.patches.width, 3)
        fill = "accent" if cut.side == own else "ink"
        marks: list[Mark] = [
            Text(id="name", text=f"{cut.side} × {cut.side}", y=12, bold=True, fill=fill),
            Text(id="n", text=f"T = {cut.n_positions:,}", y=30, fill="muted"),
            *ink("ink", pixels, 0, TOP, SIZE, SIZE),
        ]
        for n in range(1, round(SIZE / cells)):
            marks += [
                Rect(id=f"down.{n}", x=n * cells, y=TOP, width=0.6, height=SIZE, fill="grid"),
                Rect(id=f"across.{n}", y=TOP + n * cells, width=SIZE, height=0.6, fill="grid"),
            ]
        marks.append(Rect(id="frame", y=TOP, width=SIZE, height=SIZE, stroke="grid"))
        y = TOP + SIZE + 14
        for part in PARTS:
            share = _share(cut.counted, part)
            marks += [
                Text(id=f"{part}.name", text=look.words(f"cut_{part}"), y=y + 7, fill="muted"),
                Text(id=f"{part}.share", text=f"{share:.0%}", x=SIZE, y=y + 7, anchor="end"),
                Rect(id=f"{part}.room", y=y + 16, width=SIZE, height=8, fill=ROLES[part], opacity=0.15),
                Rect(id=f"{part}.bar", y=y + 16, width=SIZE * share, height=8, fill=ROLES[part], opacity=0.8),
            ]
            y += 36
        panels.append(Panel(id=f"cut.{cut.side}", marks=marks, height=y + 4, min=int(SIZE) + 16, most=int(SIZE) + 40))
    return Scene(id="cost.cuts", panels=panels, title=look.words("cut_alt"))


def _share(counted: Multiplications, part: str) -> float:
    share: float = getattr(counted, part) / counted.total
    return share


def hand(look: Look) -> tuple[Line, Sequence[Any], dict[str, Any]]:
    own, config = _own(look), look.config
    heads = config.n_heads * config.d_head
    product = f"{2 * config.n_layers * own.n_positions**2 * heads:,}"
    said = {"n": own.n_positions, "heads": heads, "layers": config.n_layers, "product": product}
    return look.text("hand_cuts", **said, counted=f"{own.counted.pairs:,}"), (), {}


def counts(look: Look) -> Sequence[tuple[str, str, Mapping[str, Sequence[object]]]]:
    """A row a part, a column a cut."""
    names = ("n", *PARTS, "head", "total")
    columns: dict[str, Sequence[object]] = {look.words("cut_part"): [look.words(f"cut_{name}") for name in names]}
    for cut in cuts(look.config):
        values = [cut.n_positions, *(getattr(cut.counted, part) for part in (*PARTS, "head")), cut.counted.total]
        columns[f"{cut.side} × {cut.side}"] = values
    return [("cuts", "", columns)]


SITES = ("attn.scores", "attn.z", "ffn.out")
APART = Tabs(
    lambda look: [look.site(name) for name in SITES],
    hand,
    lambda look: [look.site(name) for name in SITES[:2]],
    lambda look: None,
    records=counts,
)


def quiz(look: Look) -> Quiz:
    own = _own(look).counted
    most = max(PARTS, key=lambda part: _share(own, part))
    options = [look.words(f"cut_{part}") for part in PARTS]
    best = options[PARTS.index(most)]
    said = look.words("guess_part_found", best=best, most=percent(_share(own, most)))
    return Quiz(look.words("guess_part"), options, PARTS.index(most), said)
