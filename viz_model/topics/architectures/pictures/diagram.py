"""The block diagram: a stack from the bottom up, so laid out that it can stand beside another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_model.config import ModelConfig, Side
from viz_model.drawing import sheet, theme
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures.common import COLOURS, SMALL, Words


class Stack(NamedTuple):
    """A stack of blocks, as a config describes it."""

    config: ModelConfig
    side: Side


class DiagramView(NamedTuple):
    """The plan of one stack, laid out beside another's.

    ``slots`` are the places that either plan uses, from the bottom up, so that the same step
    stands at the same height in both; ``differing`` are those where the two do not agree.
    """

    elements: Mapping[str, architectures.Element]
    slots: tuple[str, ...]
    differing: frozenset[str]
    n_layers: int
    n_heads: int
    n_kv_heads: int

    @classmethod
    def pair(cls, first: Stack, second: Stack) -> tuple[DiagramView, DiagramView]:
        """Two stacks, each laid out so that it can stand beside the other."""
        plans = [architectures.plan(stack.config, stack.side) for stack in (first, second)]
        used = {element.key for plan in plans for element in plan}
        slots = tuple(place for place in architectures.PLACES if place in used)
        differing = architectures.differing(*plans)

        def view(plan: Sequence[architectures.Element], stack: Stack) -> DiagramView:
            config = stack.config
            elements = {element.key: element for element in plan}
            return cls(elements, slots, differing, config.depth(stack.side), config.n_heads, config.n_kv_heads)

        return view(plans[0], first), view(plans[1], second)

    def heights(self) -> dict[str, tuple[float, float]]:
        """The bottom and top of every slot; sub-layers stand a little apart."""
        found, y, group = {}, 0.0, "embed"
        for slot in self.slots:
            if slot.partition(".")[0] != group:
                group, y = slot.partition(".")[0], y + 0.7
            tall = 2.0 if slot.endswith(".heads") else 0.8
            found[slot] = (y, y + tall)
            y += tall + 0.3
        return found


# Where everything stands: the residual stream, the boxes beside it and the line through them, from left to right.
_STREAM, _BESIDE, _BRANCH, _RIGHT = 0.5, 1.3, 2.3, 3.3
_LEAVES = 0.22
"""How far below its first box a sub-layer leaves the stream."""


class Box(NamedTuple):
    """A slot's box. ``element`` is None where only the other stack has one there."""

    slot: str
    element: architectures.Element | None
    differs: bool
    left: float
    right: float
    low: float
    high: float


class Branch(NamedTuple):
    """A sub-layer beside the stream: where its boxes begin, and where its result is added.

    ``boxes`` is None where only the other stack has the sub-layer.
    """

    sub: str
    boxes: tuple[Box, ...] | None
    bottom: float
    plus: float


class Layout(NamedTuple):
    """A stack laid out: the boxes on the stream, the sub-layers beside it, and the frame around a block."""

    stream: tuple[Box, ...]
    branches: tuple[Branch, ...]
    frame: tuple[float, float]
    top: float

    @classmethod
    def of(cls, view: DiagramView) -> Layout:
        at = view.heights()
        block = [slot for slot in view.slots if slot.partition(".")[0] in architectures.SUBLAYERS]

        def box(slot: str, left: float, right: float) -> Box:
            return Box(slot, view.elements.get(slot), slot in view.differing, left, right, *at[slot])

        def stream() -> Iterator[Box]:
            for slot in view.slots:
                group, _, step = slot.partition(".")
                if group in ("embed", "end"):
                    yield box(slot, 0.0, _RIGHT)
                elif step == "norm_post" and f"{group}.add" in view.elements:
                    yield box(slot, 0.0, 2 * _STREAM)

        def branches() -> Iterator[Branch]:
            for sub in architectures.SUBLAYERS:
                slots = [slot for slot in block if slot.startswith(f"{sub}.") and not slot.endswith("norm_post")]
                if not slots:
                    continue
                *steps, add = slots
                boxes = tuple(box(slot, _BESIDE, _RIGHT) for slot in steps) if add in view.elements else None
                yield Branch(sub, boxes, at[slots[0]][0], sum(at[add]) / 2)

        frame = (at[block[0]][0] - 0.48, at[block[-1]][1] + 0.22)
        return cls(tuple(stream()), tuple(branches()), frame, max(high for _, high in at.values()))


class _Plan(sheet.Sheet):
    """Lines, boxes and writing."""

    def line(self, x0: float, y0: float, x1: float, y1: float, **more: Any) -> None:
        style = {"color": theme.ROLES["residual"], "width": 2, **more}
        self.add_shape(type="line", x0=x0, y0=y0, x1=x1, y1=y1, layer="below", line=style)

    def rectangle(self, across: tuple[float, float], up: tuple[float, float], **more: Any) -> None:
        corners = {"x0": across[0], "x1": across[1], "y0": up[0], "y1": up[1]}
        self.add_shape(type="rect", **corners, **more)

    def write(self, x: float, y: float, text: str, **more: Any) -> None:
        font = {"size": SMALL, "color": theme.INK, **more.pop("font", {})}
        self.add_annotation(x=x, y=y, text=text, showarrow=False, font=font, **more)

    def mark(self, x: float, y: float, **more: Any) -> None:
        """The sign of what differs."""
        self.write(x, y, "<b>≠</b>", bgcolor=theme.HIGHLIGHT, font={"color": "#ffffff"}, **more)


def draw_diagram(view: DiagramView, words: Words, name: str, which: int) -> go.Figure:
    """One stack from the bottom up, its block in a frame. ``which`` is 0 or 1: the model's colour."""
    figure, layout, colour = _Plan(), Layout.of(view), COLOURS[which]
    for box in layout.stream:
        _draw_box(figure, box, view, words)
    for branch in layout.branches:
        _draw_branch(figure, branch, view, words, colour)
    _draw_stream(figure, layout, colour)
    _draw_frame(figure, layout, theme.plain(words("plan_blocks", n=view.n_layers)))
    title = f"<b>{'●■'[which]} {theme.plain(name)}</b>"
    figure.write(_RIGHT / 2, layout.top + 0.7, title, font={"size": 14, "color": colour})
    theme.layout(figure, height=int(40 + 31 * (layout.top + 1)))
    figure.update_xaxes(visible=False, range=[-0.2, _RIGHT + 0.25], fixedrange=True, automargin=False)
    figure.update_yaxes(visible=False, range=[-0.1, layout.top + 1.1], fixedrange=True, automargin=False)
    return figure.drawn()


def _draw_box(figure: _Plan, box: Box, view: DiagramView, words: Words) -> None:
    """A step and its name; dotted and empty where only the other stack has one."""
    element, across = box.element, (box.left, box.right)
    colour = theme.ROLES[element.role if element else "residual"]
    figure.rectangle(
        across,
        (box.low, box.high),
        line={"color": colour, "width": 3 if box.differs and element else 1, "dash": "solid" if element else "dot"},
        fillcolor=theme.rgba(colour, 0.18 if element else 0.0),
    )
    if element:
        figure.write(sum(across) / 2, box.high - 0.4, theme.plain(words(element.said, **element.values)))
    if box.differs:
        figure.mark(box.right, box.high - 0.02, yanchor="middle")
    if element and box.slot.endswith(".heads"):
        figure.shapes.extend(_head_shapes(view, across, (box.low + 0.12, box.low + 1.2)))


def _draw_branch(figure: _Plan, branch: Branch, view: DiagramView, words: Words, colour: str) -> None:
    """A sub-layer off the stream, through its boxes, and back to where it is added."""
    if branch.boxes is None:
        middle = (branch.bottom + branch.plus) / 2
        figure.write(_BRANCH, middle, f"<i>{theme.plain(words(f'plan_without_{branch.sub}'))}</i>")
        figure.mark(_RIGHT, middle)
        return
    y = branch.bottom - _LEAVES
    figure.line(_STREAM, y, _BRANCH, y)
    for box in branch.boxes:
        if box.element:
            figure.line(_BRANCH, y, _BRANCH, box.low)
            y = box.high
        _draw_box(figure, box, view, words)
    figure.line(_BRANCH, y, _BRANCH, branch.plus)
    _draw_sum(figure, branch.plus, colour)


def _draw_sum(figure: _Plan, y: float, colour: str) -> None:
    """An arrow from a sub-layer into the plus on the stream."""
    figure.add_annotation(
        **{"x": _STREAM + 0.13, "y": y, "ax": _BRANCH, "ay": y},
        **{"xref": "x", "yref": "y", "axref": "x", "ayref": "y"},
        **{"text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowcolor": theme.ROLES["residual"]},
    )
    figure.add_trace(
        sheet.scatter(
            x=[_STREAM],
            y=[y],
            mode="markers+text",
            text=["+"],
            textfont={"size": 15, "color": "#ffffff"},
            marker={"size": 20, "color": colour},
            hoverinfo="skip",
        )
    )


def _draw_stream(figure: _Plan, layout: Layout, colour: str) -> None:
    """The residual stream, from each box that stands on it to the next."""
    for below, above in itertools.pairwise(box for box in layout.stream if box.element):
        figure.line(_STREAM, below.high, _STREAM, above.low, color=colour, width=4)


def _draw_frame(figure: _Plan, layout: Layout, said: str) -> None:
    """The frame around the block, and how many there are of it."""
    edge = {"color": theme.ROLES["residual"], "width": 1, "dash": "dash"}
    figure.rectangle((-0.12, _RIGHT + 0.12), layout.frame, line=edge, layer="below")
    figure.write(_RIGHT, layout.frame[1] + 0.06, f"<b>{said}</b>", xanchor="right", yanchor="bottom")


_MOST_SQUARES = 48


def _head_shapes(view: DiagramView, across: tuple[float, float], up: tuple[float, float]) -> Iterator[dict[str, Any]]:
    """Query heads above, each joined to the key–value head that it reads; many are drawn by their first ones."""
    per = view.n_heads // view.n_kv_heads
    groups = view.n_kv_heads if view.n_heads <= _MOST_SQUARES else max(1, _MOST_SQUARES // per)
    shown = min(view.n_heads, groups * per, _MOST_SQUARES)
    width = (across[1] - across[0] - 0.2) / shown
    middle = [across[0] + 0.1 + width * (i + 0.5) for i in range(shown)]
    half, tall = min(0.42 * width, 0.16), 0.3
    homes = [float(np.mean(middle[i : i + per])) for i in range(0, shown, per)]
    for i, x in enumerate(middle):
        yield _square(x, half, up[1] - tall, up[1], "query")
        ends = {"x0": x, "y0": up[1] - tall, "x1": homes[i // per], "y1": up[0] + tall}
        yield {"type": "line", **ends, "line": {"color": theme.ROLES["residual"], "width": 1}}
    for x in homes:
        yield _square(x - half / 2, half / 2, up[0], up[0] + tall, "key")
        yield _square(x + half / 2, half / 2, up[0], up[0] + tall, "value")


def _square(x: float, half: float, low: float, high: float, role: str) -> dict[str, Any]:
    corners = {"x0": x - half, "x1": x + half, "y0": low, "y1": high}
    return {"type": "rect", **corners, "fillcolor": theme.ROLES[role], "line": {"width": 0}}
