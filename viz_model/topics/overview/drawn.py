"""One run of a picture from left to right: patches, vectors, places, where a patch looks in each block, the class."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.picture import Painted, across, ink, painted, shares
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Rect, Scene, Select, Text
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Phrase, by
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.measures import patches
from viz_model.measures.classes import Classes, classes
from viz_model.measures.stream import evenly
from viz_model.topics.overview.tabs import hand, numbers
from viz_model.topics.overview.whole import MOST_BLOCKS, heading

TOP, PICTURE, SMALL, ROWS, BAR = 46.0, 132.0, 74.0, 238.0, 22.0
"""Pixels above a panel's body, of the picture, of those in the blocks, of all rows of a strip, and of a bar."""
TALL = TOP + ROWS + 8


class Looking(NamedTuple):
    """A head of a block, and its weights as they are painted."""

    layer: int
    head: int
    view: Painted


@short_repr
class DrawnView(NamedTuple):
    """The stages of a run; ``projected`` and ``places`` are [T, D], ``lengths`` of the stream behind each block [L]."""

    pixels: np.ndarray
    grid: tuple[int, int]
    names: tuple[str, ...]
    token: int
    projected: np.ndarray
    places: np.ndarray | None
    blocks: tuple[Looking, ...]
    lengths: np.ndarray
    classes: Classes | None


class Block(NamedTuple):
    """Of a block the head in which each patch gives its largest weight [T], its weights there [T, T], and the length
    of each patch's stream behind it [T].
    """

    layer: int
    heads: np.ndarray
    rows: np.ndarray
    lengths: np.ndarray


def blocks(look: Look) -> list[Block]:
    """Those that are drawn."""
    return [_block_of(look, layer) for layer in evenly(look.n_layers, look.layer, MOST_BLOCKS)]


def _block_of(look: Look, layer: int) -> Block:
    pattern = look.trace[f"blocks.{layer}.attn.pattern"].numpy()
    heads, lengths = pattern.max(-1).argmax(0), look.trace.noted(f"blocks.{layer}.resid.out").lengths.numpy()
    return Block(layer, heads, pattern[heads, np.arange(len(heads))], lengths)


def view(look: Look) -> DrawnView:
    """Of the selected patch."""
    trace, token, pixels, grid = look.trace, look.token, patches.pixels(look.trace), patches.grid(look.config)
    shown = []
    for one in blocks(look):
        head, site = int(one.heads[token]), trace.full_name(f"blocks.{one.layer}.attn.pattern")
        painting = Painted(pixels, one.rows[token], grid, look.names, site, (head, token, COLUMN), token)
        shown.append(Looking(one.layer, head, painting))
    return DrawnView(
        pixels,
        grid,
        look.names,
        token,
        trace["embed.patch"].numpy(),
        trace["embed.position"].numpy() if "embed.position" in trace else None,
        tuple(shown),
        np.array([one.lengths[token] for one in blocks(look)]),
        classes(trace) if look.config.classes else None,
    )


def draw(look: Look) -> Scene:
    drawn = view(look)
    panels = [_picture(look, drawn), _strip(look, drawn, "projected", drawn.projected, "embed.patch", "embedding")]
    if drawn.places is not None:
        panels.append(_strip(look, drawn, "places", drawn.places, "embed.position", "position"))
    panels += [_block(look, drawn, one) for one in blocks(look)]
    if drawn.classes is not None:
        panels.append(_classes(look, drawn.classes))
    call = look.call("overview", layer=look.layer, token=look.token)
    scene = Scene(id="overview.drawn", panels=panels, title=look.words("drawn_alt"), data=drawn, call=call)
    shown = (
        "embed.patch",
        "embed.position",
        *(f"blocks.{one.layer}.attn.pattern" for one in drawn.blocks),
        "class.probs",
    )
    sites = [name for name in shown if name in look.trace]
    return look.drawn(scene if len(drawn.blocks) == look.n_layers else look.only_here(scene), sites)


def _picture(look: Look, drawn: DrawnView) -> Panel:
    rows, columns = drawn.grid
    wide, tall = PICTURE / columns, PICTURE / rows
    name = look.words("drawn_patches")
    marks = heading(name, f"{rows} × {columns} + [CLS]", Pick({"page": "embedding"}))
    marks += ink("ink", drawn.pixels, 0, TOP, PICTURE, PICTURE)
    y = TOP + PICTURE + 14
    boxes = [(0.0, y, 54.0, 26.0)]
    boxes += [(n % columns * wide, TOP + n // columns * tall, wide, tall) for n in range(rows * columns)]
    for n, (x, top, width, height) in enumerate(boxes):
        place: dict[str, Any] = {"x": x, "y": top, "width": width, "height": height, "stroke": "grid"}
        marks.append(Rect(id=f"patch.{n}", act=Select(token=n), label=drawn.names[n], **place))
    marks.append(Text(id="class.name", text="[CLS]", x=27, y=y + 13, anchor="middle"))
    ring: dict[str, Any] = {
        part: by("token", np.array([box[k] for box in boxes], np.float32))
        for k, part in enumerate(("x", "y", "width", "height"))
    }
    marks.append(Rect(id="ring", stroke="accent", thick=3, **ring))
    return Panel(id="picture", marks=marks, height=TALL, min=int(PICTURE), most=int(PICTURE))


def _strip(look: Look, drawn: DrawnView, part: str, values: np.ndarray, site: str, page: str) -> Panel:
    top, step, name = float(np.abs(values).max()) or 1.0, ROWS / len(values), look.words(f"drawn_{part}")
    cells = Cells(
        id="cells", y=TOP, height=ROWS, values=values, top=top, rows=drawn.names,
        columns=[str(d) for d in range(values.shape[1])], site=site, where=Where(site, (ROW, COLUMN)), name=name,
        choose="row",
    )  # fmt: skip
    y: Any = by("token", (TOP + step * np.arange(len(values))).astype(np.float32))
    ring = Rect(id="ring", y=y, width=(1, 0), height=step, stroke="accent", thick=2)
    marks = [*heading(name, f"{values.shape[0]} × {values.shape[1]}", Pick({"page": page})), cells, ring]
    return Panel(id=part, marks=marks, height=TALL, min=76, most=190)


def _block(look: Look, drawn: DrawnView, one: Block) -> Panel:
    heads, site = one.heads, look.trace.full_name(f"blocks.{one.layer}.attn.pattern")
    head = by("token", heads)
    beside: Any = Phrase(f"{look.words('drawn_head')} {{{{head}}}}", {"head": head._replace(write="0")})
    places = [Pick({"page": "attention", "layer": one.layer, "head": n}) for n in range(look.n_heads)]
    title = f"{look.words('drawn_block')} {one.layer}"
    where: Any = (head, by("token", np.arange(len(heads))), COLUMN)
    view = Painted(drawn.pixels, by("token", one.rows), drawn.grid, drawn.names, site, where, "token")
    length: Any = Phrase(f"{look.words('drawn_length')} {{{{length}}}}", {"length": by("token", one.lengths, "1")})
    top: Any = by("token", np.where(one.rows.max(-1) > 0, one.rows.max(-1), 1.0))
    marks: list[Mark] = [
        *heading(title, beside, Among(places, head), title),
        *painted(view, 0, TOP, SMALL, top, selects=True),
        Text(id="length", text=length, y=TOP + SMALL + 18, fill="muted"),
    ]
    width = int(across(SMALL))
    return Panel(id=f"block.{one.layer}", marks=marks, height=TALL, min=width, most=width)


def _classes(look: Look, said: Classes) -> Panel:
    marks = heading(look.words("drawn_classes"), said.labels[said.top], Pick({"page": "next_token"}))
    shown = said.order[:10] if len(said.labels) > 10 else range(len(said.labels))
    left = 6.0 + 9.0 * max(len(said.labels[n]) for n in shown)
    marks += shares(said.labels, said.probs, shown, left=left, top=TOP, step=BAR, site="class.probs")
    return Panel(id="classes", marks=marks, height=TALL, min=124, most=260)


def tell(look: Look) -> Iterator[Line]:
    if look.config.classes:
        yield look.text("finding_class", **classes(look.trace).facts)
    yield look.text("see_drawn", token=look.token_named(), n=len(look) - 1)


def formulas(look: Look) -> list[str]:
    names = ("patches.projected", "embed.out", "resid.mid", "resid.out", "class.logits", "class.probs")
    return [look.site(name) for name in names if look.has(name)]


def quiz(look: Look) -> Quiz | None:
    """In which block's stream the chosen position is longest."""
    every = [look.trace.noted(f"blocks.{n}.resid.out").lengths.numpy() for n in range(look.n_layers)]
    shown = asking.spread(look.n_layers)
    names = [look.common("guess_block", n=n) for n in shown]
    lengths = np.stack(every, -1)[:, shown]
    return asking.largest(look, "token", lengths, names, "1", "guess_longest", token=look.token_named())


TABS = Tabs(formulas, hand, lambda look: (), numbers, own=lambda look: ("picture_overview", {}))
