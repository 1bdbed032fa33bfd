"""How large published models are beside the two: blocks, and parameters on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.drawing.chart import Axis
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.writing import short as cut
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair, parameters, rows
from viz_model.topics.architectures.parameters import short
from viz_model.topics.architectures.references import REFERENCES
from viz_model.topics.architectures.rows import Dots


class ScaleView(NamedTuple):
    """R models, the two that stand beside each other first: blocks of the deeper stack, and parameters as counted."""

    names: tuple[str, ...]
    blocks: np.ndarray
    parameters: np.ndarray


def view(look: Look) -> ScaleView:
    models = [*((one.name, one.config) for one in pair.both(look)), *((ref.name, ref.config) for ref in REFERENCES)]
    names, configs = zip(*models, strict=True)
    depths = [max(config.depth(side) for side in config.sides) for config in configs]
    sizes = [sum(parameters.of_config(config).values()) for config in configs]
    return ScaleView(names, np.array(depths), np.array(sizes, dtype=np.int64))


def draw(look: Look) -> Scene:
    """A row a model; those of published sizes are gray and bear a ◇."""
    found = view(look)
    published = len(found.names) - len(pair.COLORS)
    names = [f"{cut(name, 30)}{'' if n < len(pair.COLORS) else ' ◇'}" for n, name in enumerate(found.names)]
    counts = [look.words("scale_count", n=int(blocks)) for blocks in found.blocks]
    sizes = found.parameters.tolist()
    dots = Dots(
        "", found.parameters, [*pair.COLORS, *["residual"] * published],
        [*pair.SYMBOLS, *["diamond-open"] * published], 11,
        [f"{name}\n{count}\n{size:,}" for name, count, size in zip(names, counts, sizes, strict=True)],
        [f"{count} · {short(size)}" for count, size in zip(counts, sizes, strict=True)],
    )  # fmt: skip
    axis = Axis(min(sizes) / 2, max(sizes) * 2, look.words("part_parameters"), is_log=True)
    ticks = [(tick, axis.named(tick)) for tick in axis.ticks()]
    return rows.draw(look, "scale", [(name,) for name in names], [dots], axis, ticks, row=30)


def title(look: Look) -> Iterator[Line]:
    yield Line(look.words("scale_title"), "part")


def tell(look: Look) -> Iterator[Line]:
    found = view(look)
    known = dict(zip(found.names, zip(found.blocks.tolist(), found.parameters.tolist(), strict=True), strict=True))
    blocks, size = found.blocks[0], int(found.parameters[0])
    facts: dict[str, object] = {"blocks": int(blocks), "total": short(size)}
    for key, name in (("gpt2", "GPT-2 small (2019)"), ("gpt3", "GPT-3 (2020)"), ("qwen3", "Qwen3-14B (2025)")):
        facts |= {f"{key}_blocks": known[name][0], key: f"{known[name][1]:,}"}
    times = known["GPT-3 (2020)"][1] / size
    yield look.text("scale", **pair.names(look), **facts, times=f"{times:,.0f}")
