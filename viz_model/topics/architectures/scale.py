"""Models in rows, a row a model, along a logarithmic scale: how large published ones are beside the two."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.chart import Axis, line_key
from viz_model.drawing.scene import Items, Labels, Mark, Panel, Path, Rect, Run, Scene, Series, Text, Texts, along
from viz_model.drawing.scene.writing import short as cut
from viz_model.drawing.scene.writing import width_of
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair, parameters
from viz_model.topics.architectures.parameters import short
from viz_model.topics.architectures.references import REFERENCES

TOP = 8.0


class Dots(NamedTuple):
    """A point in every row.

    Attributes:
        name: in the legend; none where there is one series alone.
        role: its color, or one for each.
        symbol: its shape, or one for each.
        said: what is said of each.
        texts: written at each, behind it or, where ``above``, over it.
    """

    name: str
    values: np.ndarray
    role: str | Sequence[str]
    symbol: str | Sequence[str]
    size: float
    said: Sequence[str]
    texts: Sequence[str] = ()
    above: bool = False


def rows(
    look: Look,
    key: str,
    names: Sequence[Sequence[str]],
    dots: Sequence[Dots],
    scale: Axis,
    ticks: Sequence[tuple[float, str]],
    *,
    row: float,
    lines: tuple[np.ndarray, np.ndarray] | None = None,
) -> Scene:
    """The rows.

    Args:
        key: of the picture; the text ``<key>_alt`` says what it shows.
        names: of each row, in lines.
        ticks: along the scale, and how each is written.
        lines: where a line begins and ends in each row.
    """
    n = len(names)
    left = min(210.0, max(width_of(line) for name in names for line in name)) + 12
    behind = max((width_of(text) for one in dots if not one.above for text in one.texts), default=0.0)
    across, end = (1.0, -left - 14 - behind), TOP + n * row
    y = (TOP + row * (np.arange(n) + 0.5)).astype(np.float32)

    def x(values: Any) -> Any:
        return along(scale.share(np.asarray(values, dtype=np.float64)), left, across)

    marks: list[Mark] = []
    for k, (value, text) in enumerate(ticks):
        at = x(value)
        marks.append(Rect(id=f"grid.{k}", x=at, y=TOP, width=1, height=n * row, fill="grid"))
        marks.append(Text(id=f"tick.{k}", text=text, x=at, y=end + 10, anchor="middle", fill="muted"))
    if lines is not None:
        for k, ends in enumerate(zip(*lines, strict=True)):
            marks.append(Path(id=f"line.{k}", x=x(ends), y=y[[k, k]], stroke="residual", thick=1))
    for k, one in enumerate(dots):
        marks.append(
            Items(id=f"points.{k}", x=x(one.values), y=y, symbol=one.symbol, size=one.size, fill=one.role,
                  labels=one.said, name=one.name, down=True)
        )  # fmt: skip
        if one.texts:
            shift = np.array([0, 0 if one.above else one.size / 2 + 5], np.float32)
            up, anchor = (one.size / 2 + 9, "middle") if one.above else (0, "start")
            marks.append(Texts(id=f"texts.{k}", texts=one.texts, x=x(one.values) + shift, y=y - up, anchor=anchor))
    listed = [tuple((Run(line),) for line in name) for name in names]
    marks.append(Labels(id="names", texts=listed, x=left - 10, y=TOP, length=n * row, along="y", most=60))
    marks.append(Text(id="title", text=scale.title, x=along(0.5, left, across), y=end + 30, anchor="middle"))
    named = [" ".join(name) for name in names]
    return Scene(
        id=f"architectures.{key}",
        panels=[Panel(id="rows", marks=marks, height=end + 40)],
        title=look.words(f"{key}_alt"),
        keys=[line_key(one.name, str(one.role), str(one.symbol)) for one in dots if one.name],
        series=[Series(one.name or scale.title, named, one.values) for one in dots],
    )


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
    return rows(look, "scale", [(name,) for name in names], [dots], axis, ticks, row=30)


def tell(look: Look) -> Iterator[Line]:
    found = view(look)
    known = dict(zip(found.names, zip(found.blocks.tolist(), found.parameters.tolist(), strict=True), strict=True))
    blocks, size = found.blocks[0], int(found.parameters[0])
    facts: dict[str, object] = {"blocks": int(blocks), "total": short(size)}
    for key, name in (("gpt2", "GPT-2 small (2019)"), ("gpt3", "GPT-3 (2020)"), ("qwen3", "Qwen3-14B (2025)")):
        facts |= {f"{key}_blocks": known[name][0], key: f"{known[name][1]:,}"}
    times = known["GPT-3 (2020)"][1] / size
    yield look.text("scale", **pair.names(look), **facts, times=f"{times:,.0f}")
