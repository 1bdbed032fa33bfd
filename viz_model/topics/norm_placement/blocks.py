"""Who is compared, and the block of each with its norm where it stands."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Text, Texts
from viz_model.drawing.tables import Lengths
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import passage
from viz_model.measures.stream import stream_lengths, stream_sites
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.norm_placement.places import COLORS, NAMES, facts, is_alone, runs

PLACE = "layer token"
BLOCK = ("resid.in", "attn.out", "resid.mid", "cross.out", "resid.cross", "ffn.out", "resid.out")
RISE, HALF = 215.0, 18.0
"""Pixels of a sub-layer, and half those of a box."""


class Branch(NamedTuple):
    """A sub-layer: the length of what it adds, of the sum, and of the stream after it.

    Under Pre-LN the last two are the same; under Post-LN a norm stands between them.
    """

    name: str
    added: np.ndarray
    total: np.ndarray
    after: np.ndarray


class BlockView(NamedTuple):
    """‖·‖ of tokens' vectors on their way through blocks, each [L, T]."""

    entering: np.ndarray
    branches: tuple[Branch, ...]

    @property
    def on_stream(self) -> tuple[np.ndarray, ...]:
        """The lengths of all that stands on the stream."""
        return self.entering, *(length for branch in self.branches for length in (branch.total, branch.after))

    @property
    def out(self) -> np.ndarray:
        return self.branches[-1].after


def block_view(trace: Trace, layers: range) -> BlockView:
    """Of all tokens in some blocks."""
    ways = [passage.passage(trace, layer) for layer in layers]
    names = [step.name for step in ways[0].steps]
    by_name = {
        name: np.stack([np.linalg.norm(way.steps[n].values, axis=-1) for way in ways]) for n, name in enumerate(names)
    }
    after = [step.name for step in ways[0].steps if step.site.rpartition(".resid.")[1]][1:]
    return BlockView(
        by_name[names[0]],
        tuple(
            Branch(one.sublayer, by_name[one.written], by_name[one.total], by_name[end])
            for one, end in zip(ways[0].sums, after, strict=True)
        ),
    )


def views(look: Look) -> dict[str, BlockView]:
    """By the place of the norm."""
    return look.once(lambda look: {at: block_view(run, look.layers) for at, run in runs(look).items()}, "blocks")


def introduce(look: Look) -> Iterator[Line]:
    """Who is compared, or why nobody is."""
    yield look.text("lead")
    if not is_alone(look):
        yield look.text("twins")
        return
    name = literal(look.trace.name or "")
    yield look.text(f"alone_{look.trace.norm_at}", model=name, norm=passage.norm_name(look.trace))


def title(look: Look) -> Iterator[Line]:
    ends = look.once(_ends, "ends of blocks")
    names = {at: "" if is_alone(look) else f"{NAMES[at]} " for at in ends}
    template = " · ".join(f"{names[at]}{{{{in_{at}}}}} → {{{{out_{at}}}}}" for at in ends)
    numbers = {
        f"{end}_{at}": look.by(PLACE, one, "1")
        for at, pair in ends.items()
        for end, one in zip(("in", "out"), pair, strict=True)
    }
    said = look.words("blocks_title", **facts(look), lengths=template)
    yield Line(said._replace(values={**said.values, **numbers}), "title")


def _ends(look: Look) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By place of the norm the lengths of the stream at both ends of blocks, before a norm on it: [L, T] each."""
    found = {}
    for at, run in runs(look).items():
        ends = [n for n, site in enumerate(stream_sites(run)) if site.endswith(".out")]
        lengths = stream_lengths(run)[ends]
        found[at] = lengths[list(look.layers)], lengths[[n + 1 for n in look.layers]]
    return found


def draw(look: Look) -> Scene:
    """Both blocks from top to bottom, the stream as thick as the token's vector is long."""
    found = views(look)
    longest = np.max([length for view in found.values() for length in view.on_stream], axis=0)
    longest = np.where(longest > 0, longest, 1.0)
    height = RISE * max(len(view.branches) for view in found.values())
    marks: list[Mark] = []
    for column, (at, view) in enumerate(found.items()):
        left, before = (0.14 + 0.53 * column) if len(found) > 1 else 0.36, view.entering
        for n, branch in enumerate(view.branches):
            marks += _sub_layer(look, at, branch, n, before, longest, left)
            before = branch.after
        marks.append(_number(look, f"{at}.out", before, left, 30 + height, bold=at == "pre"))
        mark = "● " if at == look.trace.norm_at and len(found) > 1 else ""
        head: dict[str, Any] = {"size": 15, "bold": True, "fill": COLORS[at], "anchor": "middle"}
        marks.append(Text(id=f"{at}.name", text=mark + NAMES[at], x=(left, 0), y=12, **head))
    panel = Panel(id="blocks", marks=marks, height=height + 44, min=300)
    scene = Scene(id="norm_placement.blocks", panels=[panel], title=look.words("blocks_alt"))
    return look.drawn(scene, [name for name in BLOCK if look.has(name)])


def _number(look: Look, id: str, values: np.ndarray, left: float, y: float, bold: bool = True) -> Text:
    said: Any = look.by(PLACE, values, "1")
    return Text(id=id, text=said, x=(left, -16), y=y, anchor="end", bold=bold)


def _sub_layer(
    look: Look, at: str, branch: Branch, n: int, before: np.ndarray, longest: np.ndarray, left: float
) -> Iterator[Mark]:
    """One sub-layer: the branch with its boxes, the addition, and under Post-LN the norm on the stream."""
    id, base, side, is_pre = f"{at}.{n}", 30 + RISE * n, left + 0.19, at == "pre"
    plus, end, role = base + (178 if is_pre else 127), base + RISE, "ffn" if branch.name == "ffn" else "pattern"
    name = look.words(f"station_{branch.name}")

    def line(key: str, points: list[tuple[float, float]], thick: Any, color: str, head: float = 0) -> Path:
        x = np.array([[share, 0] for share, _ in points], np.float32)
        y = np.array([down for _, down in points], np.float32)
        return Path(id=f"{id}.{key}", x=x, y=y, stroke=color, thick=thick, head=head)

    def stream(key: str, low: float, high: float, lengths: np.ndarray) -> Path:
        share = (lengths / longest).astype(np.float32)
        thick: Any = Lengths(look.by(PLACE, share), 0, 1, 2.0, 14.0)
        return line(key, [(left, low), (left, high)], thick, COLORS[at])

    def box(key: str, x: float, y: float, text: str, hue: str) -> list[Mark]:
        place: dict[str, Any] = {"x": (x - 0.105, 0), "y": y - HALF, "width": (0.21, 0), "height": 2 * HALF}
        return [
            Rect(id=f"{id}.{key}.ground", fill="paper", **place),
            Rect(id=f"{id}.{key}", fill=hue, opacity=0.2, **place),
            Rect(id=f"{id}.{key}.edge", stroke=hue, thick=2, **place),
            Text(id=f"{id}.{key}.name", text=text, x=(x, 0), y=y, anchor="middle"),
        ]

    yield _number(look, f"{id}.before", before, left, base + 8, bold=is_pre)
    yield line("branch", [(left, base + 23), (side, base + 23), (side, plus), (left + 0.03, plus)], 1.5, "muted", 8)
    norm = look.words("station_norm")
    for y, text, hue in [(base + 62, norm, "norm"), (base + 124, name, role)] if is_pre else [(base + 75, name, role)]:
        yield from box(hue, side, y, text, hue)
    added: Any = look.by(PLACE, branch.added, "+1")
    yield Text(id=f"{id}.added", text=added, x=(side, 6), y=plus - 10)
    yield stream("stream", base, plus, before)
    if is_pre:
        yield stream("after", plus, end, branch.after)
    else:
        yield stream("sum", plus, base + 178, branch.total)
        yield stream("after", base + 178, end, branch.after)
        yield from box("normed", left, base + 178, norm, "norm")
        yield _number(look, f"{id}.total", branch.total, left, plus + 16)
    x, at_plus = np.array([[left, 0]], np.float32), np.array([plus], np.float32)
    yield Items(id=f"{id}.plus", x=x, y=at_plus, symbol="circle", size=22, fill=COLORS[at], walk=False)
    yield Texts(id=f"{id}.sign", texts=["+"], x=x, y=at_plus, size=15, fill="white")


def source(look: Look) -> Iterator[Line]:
    yield look.source(*(name for name in BLOCK if look.has(name)))


def tell(look: Look) -> Iterator[Line]:
    yield look.text("see", **facts(look))
    for at, (entering, out) in look.once(_ends, "ends of blocks").items():
        yield look.text(f"see_{at}", entering=look.by(PLACE, entering, "1"), out=look.by(PLACE, out, "1"))
    yield look.text("see_how_alone" if is_alone(look) else "see_how")
    if not is_alone(look):
        yield look.text("see_mark")
