"""The whole run in one picture: a row a token, a column a stage, every cell a value of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import palettes
from viz_model.drawing.brief import brief
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import Cells, Mark, Panel, Pick, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.writing import percent
from viz_model.measures.heads import HeadSummary
from viz_model.topics.overview.numbers import Look

MOST_NUMBERS = 27_000
"""Numbers of the whole picture, 4 bytes each: of strips that would be too wide every n-th dimension is drawn."""
HIDDEN = -1.0
"""What a masked cell holds in place of a weight."""
WORDS = (
    "tokens",
    "embedding",
    "position",
    "dimensions",
    "every",
    "dimension",
    "block",
    "head",
    "masked",
    "vectors",
    "hint",
    "alt",
)
"""Keys of the words that the picture is labelled with."""


class StripView(NamedTuple):
    """Vectors of all tokens at one site: ``values`` is [S, D]; ``part`` is its key in the words, and its page."""

    part: str
    page: str
    site: str
    values: np.ndarray


class BlockView(NamedTuple):
    """One block: the pattern [S, S] of the head that looks away most sharply, and residual norms [S].

    Cells that the mask hides are −1.
    """

    layer: int
    head: int
    does: HeadSummary
    pattern: np.ndarray
    norm: np.ndarray


@brief
class OverviewView(NamedTuple):
    """The stages of one run. S rows stand for T tokens, ``pool`` tokens each.

    Of pooled tokens each dimension shows the value of largest magnitude, patterns the largest
    weight, norms the mean. ``strips`` are what enters the blocks; where the run ends in vectors
    rather than in logits they are the last strip. ``next_tokens`` are those at ``token``, over the
    full vocabulary, and ``next_ids`` their ids; ``look`` is its strongest look at another position, ``read``
    at the source.
    Deep models show ``blocks`` at even distances, ``n_layers`` in all.
    """

    labels: tuple[str, ...]
    ids: tuple[int, ...]
    strips: tuple[StripView, ...]
    blocks: tuple[BlockView, ...]
    vectors: StripView | None
    next_tokens: tuple[tuple[str, float], ...]
    look: Look | None
    read: Look | None
    token: int
    pool: int
    n_layers: int
    next_ids: tuple[int, ...] = ()


_TOP, _TALLEST, _LEAST = 44.0, 420.0, 220.0
"""Pixels above the first row, of all rows at the most, and of the picture's body at the least."""


class _Room(NamedTuple):
    """Pixels of all rows, and of the picture; what every panel is labelled with."""

    height: float
    tall: float
    words: Mapping[str, str]
    names: Sequence[str]


def scene(view: OverviewView, kinds: Sequence[str], prefix: str, words: Mapping[str, str]) -> Scene:
    """The stages as panels from left to right, a row a token in each.

    Args:
        kinds: what each block's head does.
        prefix: stands before the names of the blocks' sites.
        words: those of :data:`WORDS`, "next" and "after".
    """
    rows = view.strips[0].values.shape[0]
    height = max(6.0, min(30.0, _TALLEST / rows)) * rows
    body = max(height, _LEAST)
    ends = () if view.vectors is None else (view.vectors,)
    strips = (*view.strips, *ends)
    left = MOST_NUMBERS - len(view.blocks) * rows * (rows + 1)
    every = -(-view.strips[0].values.shape[1] * rows * len(strips) // left)
    tall = _TOP + body + 8
    top = max(float(np.abs(strip.values).max(initial=0)) for strip in view.strips) or 1.0
    names = [f"{n * view.pool}: {label}" for n, label in enumerate(view.labels[:: view.pool])]
    room = _Room(height, tall, words, names)
    panels = [_tokens(view, room)]
    panels += [_strip(view, strip, n, every, top, room) for n, strip in enumerate(view.strips)]
    longest = max((float(block.norm.max(initial=0)) for block in view.blocks), default=1.0) or 1.0
    for block, kind in zip(view.blocks, kinds, strict=True):
        panels.append(_block(view, block, kind, f"{prefix}blocks.{block.layer}", longest, room))
    for strip in ends:
        own = float(np.abs(strip.values).max(initial=0)) or 1.0
        panels.append(_strip(view, strip, 0, every, own, room))
    if view.vectors is None:
        panels.append(_next(view, body, room))
    drawn = [panel for panel in panels if panel.marks]
    words_ = {"masked": words["masked"]}
    return Scene(id="overview", panels=drawn, title=words["alt"], description=words["hint"], words=words_)


def _heading(name: str, beside: str, **opens: object) -> list[Mark]:
    """Two lines over a panel; a click opens the page that they name."""
    act, label = (Pick(opens), " · ".join(filter(None, (name, beside)))) if opens else (None, "")
    return [
        Text(id="title", text=name, y=10, bold=True),
        Text(id="beside", text=beside, y=28, fill="muted"),
        Rect(id="open", width=(1, 0), height=38, act=act, label=label),
    ]


def _tokens(view: OverviewView, room: _Room) -> Panel:
    """Tokens and their ids, a row each where there is room for letters; a click follows one."""
    shown, ids = view.labels[:: view.pool], view.ids[:: view.pool]
    step, marks = room.height / len(shown), _heading(room.words["tokens"], f"{len(view.labels)}", page="tokens")
    for row, (label, id) in enumerate(zip(shown, ids, strict=True)):
        y, role, position = _TOP + row * step, palettes.token(row * view.pool), row * view.pool
        opacity = 0.36 if row == view.token // view.pool else 0.13
        box: dict[str, Any] = {"y": y + 1, "height": step - 2, "fill": role}
        act, told = Select(token=position), f"{position}: {label} · id {id}"
        marks += [
            Rect(id=f"row.{row}", width=(1, 0), opacity=opacity, act=act, label=told, **box),
            Rect(id=f"mark.{row}", width=3, **box),
        ]
        if step >= 12:
            marks.append(Text(id=f"token.{row}", text=short(label, 10), x=8, y=y + step / 2, size=13))
            marks.append(Text(id=f"id.{row}", text=str(id), x=(1, -5), y=y + step / 2, anchor="end", fill="muted"))
    return Panel(id="tokens", marks=marks, height=room.tall, min=118, most=150)


def _strip(view: OverviewView, strip: StripView, n: int, every: int, top: float, room: _Room) -> Panel:
    """Vectors, a row a token; of wide ones every n-th dimension."""
    width = strip.values.shape[1]
    said = room.words["dimensions"].replace("#", str(width))
    if every > 1:
        said = room.words["every"].replace("#", str(every)).replace("@", str(width))
    dimensions = tuple(range(0, width, every))
    where = Where(strip.site, (ROW, COLUMN), (), dimensions if every > 1 else ()) if view.pool == 1 else None
    cells = Cells(
        id="cells", y=_TOP, height=room.height, values=strip.values[:, ::every], top=top, rows=room.names,
        columns=[f"{room.words['dimension']} {d}" for d in dimensions], site=strip.site, where=where,
        name=room.words[strip.part],
    )  # fmt: skip
    # What is added has the dimensions of what it is added to.
    heading = _heading(("+ " if n else "") + room.words[strip.part], "" if n else said, page=strip.page)
    least = math.ceil(max(76.0, width_of("" if n else said)))
    return Panel(id=f"strip.{strip.part}", marks=[*heading, cells], height=room.tall, min=least)


def _block(view: OverviewView, block: BlockView, kind: str, at: str, longest: float, room: _Room) -> Panel:
    """A block's sharpest head, which a click looks at, and the lengths of the stream behind it."""
    names, rows = room.names, len(block.norm)
    pattern = np.where(block.pattern == HIDDEN, np.nan, block.pattern)
    site, step = f"{at}.attn.pattern", room.height / rows
    bars = [
        Rect(
            id=f"length.{row}", x=(0.7, 4), y=_TOP + row * step + 0.2 * step, height=0.6 * step,
            width=(0.3 * float(norm) / longest, -4 * float(norm) / longest), fill="residual",
        )
        for row, norm in enumerate(block.norm)
    ]  # fmt: skip
    lengths = Cells(
        id="lengths", x=(0.7, 4), y=_TOP, width=(0.3, -4), height=room.height, values=block.norm[:, None], look="blank",
        rows=names, columns=("",), site=f"‖{at}.resid.out‖", name=f"‖{at}.resid.out‖",
    )  # fmt: skip
    cells = Cells(
        id="cells", y=_TOP, width=(0.7, 0), height=room.height, values=pattern, look="share", rows=names, columns=names,
        site=f"{site}[{block.head}]", hidden=room.words["masked"], bound="≤ " if view.pool > 1 else "",
        where=Where(site, (block.head, ROW, COLUMN)) if view.pool == 1 else None,
        name=f"{room.words['block']} {block.layer}, {room.words['head']} {block.head}",
    )  # fmt: skip
    title, beside = f"{room.words['block']} {block.layer}", f"{room.words['head']} {block.head} · {kind}"
    heading = _heading(title, beside, page="attention", layer=block.layer, head=block.head)
    marks = [*heading, cells, *bars, lengths]
    return Panel(id=f"block.{block.layer}", marks=marks, height=room.tall, min=112, most=300, grow=2)


def _next(view: OverviewView, body: float, room: _Room) -> Panel:
    """The most probable next tokens."""
    marks = _heading(room.words["next"], f"{room.words['after']} {short(view.labels[view.token])}", page="next_token")
    step = min(28.0, body / max(1, len(view.next_tokens)))
    for n, (label, probability) in enumerate(view.next_tokens):
        y = _TOP + n * step
        cells: dict[str, Any] = {"look": "blank", "rows": (label,), "columns": ("",), "site": "probs", "name": label}
        where = Where("probs", (view.token, view.next_ids[n]))
        marks += [
            Rect(id=f"room.{n}", y=y + 2, width=(1, 0), height=step - 5, fill="output", opacity=0.2),
            Rect(id=f"bar.{n}", y=y + 2, width=(probability, 0), height=step - 5, fill="output", opacity=0.6),
            Text(id=f"guess.{n}", text=short(label), x=7, y=y + step / 2, size=13),
            Text(id=f"share.{n}", text=percent(probability), x=(1, -6), y=y + step / 2, size=13, anchor="end"),
            Cells(id=f"cell.{n}", y=y, height=step, values=np.array([[probability]]), where=where, **cells),
        ]
    # In a row of its own it takes no more than its bars.
    return Panel(id="next", marks=marks, height=_TOP + step * len(view.next_tokens) + 8, min=140, most=260)
