"""The block diagram: a stack from the top down, so laid out that it can stand beside another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig, Side
from viz_model.drawing import axes, boxes, curves, sheet, theme, writing
from viz_model.topics.architectures.numbers import plan
from viz_model.topics.architectures.numbers.plan import Element
from viz_model.topics.architectures.pictures.common import COLOURS, Words, said
from viz_model.values.declaration import Site


class Stack(NamedTuple):
    """A stack of blocks, as a config describes it, and the layer whose block is looked at."""

    config: ModelConfig
    side: Side
    layer: int = 0


class DiagramView(NamedTuple):
    """The plan of one stack, laid out beside another's.

    ``slots`` are the places that either plan uses, from the top down, so that the same step
    stands at the same height in both; ``differing`` are those where the two do not agree.
    ``alike`` are the layers that are built like the block that is drawn.
    """

    elements: Mapping[str, Element]
    slots: tuple[str, ...]
    differing: frozenset[str]
    alike: tuple[int, ...]
    n_layers: int
    n_heads: int
    n_kv_heads: int
    adds: bool

    @classmethod
    def pair(cls, first: Stack, second: Stack) -> tuple[DiagramView, DiagramView]:
        """Two stacks, each laid out so that it can stand beside the other."""
        plans = [plan.plan(*stack) for stack in (first, second)]
        slots, differing = plan.slots(*plans), plan.differing(*plans)

        def view(own: Sequence[Element], stack: Stack) -> DiagramView:
            config, alike = stack.config, plan.alike(*stack)
            return cls(
                elements={element.key: element for element in own},
                slots=slots,
                differing=differing,
                alike=alike,
                n_layers=config.depth(stack.side),
                n_heads=config.n_heads,
                n_kv_heads=config.n_kv_heads,
                adds=config.residual,
            )

        return view(plans[0], first), view(plans[1], second)

    @property
    def sublayers(self) -> tuple[str, ...]:
        """The parts of a block, in order."""
        groups = dict.fromkeys(slot.partition(".")[0] for slot in self.slots)
        return tuple(group for group in groups if group not in ("embed", "end"))

    def changed(self) -> tuple[Element, ...]:
        """The steps of this stack that the other has otherwise, or not at all, and that make a value."""
        found = (self.elements[slot] for slot in self.slots if slot in self.elements and slot in self.differing)
        return tuple(element for element in found if element.sites)

    def heights(self) -> dict[str, tuple[float, float]]:
        """The bottom and top of every slot; sub-layers stand a little apart."""
        found, y, group = {}, 0.0, "embed"
        for slot in self.slots:
            if slot.partition(".")[0] != group:
                y -= 0.95 if group == "embed" else 0.7  # room for what the frame of the block says
                group = slot.partition(".")[0]
            tall = 2.0 if slot.endswith(".heads") else 0.8
            found[slot] = (y - tall, y)
            y -= tall + 0.3
        return found


# Where everything stands: the residual stream, the boxes beside it and the line through them, from left to right.
_STREAM, _BESIDE, _BRANCH, _RIGHT = 0.5, 1.3, 2.3, 3.3
_LEAVES = 0.22
"""How far above its first box a sub-layer leaves the stream."""


class Box(NamedTuple):
    """A slot's box. ``element`` is None where only the other stack has one there."""

    slot: str
    element: Element | None
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
    top: float
    plus: float


class Layout(NamedTuple):
    """A stack laid out: the boxes on the stream, the sub-layers beside it, and the frame around a block."""

    stream: tuple[Box, ...]
    branches: tuple[Branch, ...]
    frame: tuple[float, float]
    bottom: float

    @classmethod
    def of(cls, view: DiagramView) -> Layout:
        at = view.heights()
        block = [slot for slot in view.slots if slot.partition(".")[0] in view.sublayers]

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
            for sub in view.sublayers:
                slots = [slot for slot in block if slot.startswith(f"{sub}.") and not slot.endswith("norm_post")]
                if not slots:
                    continue
                *steps, add = slots
                boxes = tuple(box(slot, _BESIDE, _RIGHT) for slot in steps) if add in view.elements else None
                yield Branch(sub, boxes, at[slots[0]][1], sum(at[add]) / 2)

        frame = (at[block[-1]][0] - 0.22, at[block[0]][1] + 0.48)
        return cls(tuple(stream()), tuple(branches()), frame, min(low for low, _ in at.values()))


def name_of(element: Element, words: Words, label: Callable[[Site], str]) -> str:
    """What stands in a box: a text, or the labels of the values of a step that there is none of."""
    labels = words("plan_comma").join(dict.fromkeys(label(site) for site in element.sites))
    otherwise = words("plan_variant", variant=element.variant, labels=labels) if element.variant else labels
    return said(words, element.text_key, otherwise, **element.values)


def cut(name: str, most: int = 38) -> str:
    """A name that fits a box."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


class Names(NamedTuple):
    """Texts of the page, and the labels of values."""

    words: Words
    label: Callable[[Site], str]


def draw_diagram(view: DiagramView, words: Words, name: str, which: int, label: Callable[[Site], str]) -> sheet.Sheet:
    """One stack from the top down, its block in a frame. ``which`` is 0 or 1: the model's colour."""
    figure, layout, colour, names = sheet.Sheet(), Layout.of(view), COLOURS[which], Names(words, label)
    for box in layout.stream:
        _draw_box(figure, box, view, names)
    for branch in layout.branches:
        _draw_branch(figure, branch, view, names, colour)
    for above, below in itertools.pairwise(box for box in layout.stream if box.element):
        boxes.line(figure, (_STREAM, above.low), (_STREAM, below.high), color=colour, width=4)
    _draw_frame(figure, layout, _blocks(view, words))
    writing.note(figure, f"{'●■'[which]} {name}", _RIGHT / 2, 0.7, size=14, bold=True, colour=colour)
    axes.hidden(figure, [-0.2, _RIGHT + 0.25], [layout.bottom - 0.1, 1.1])
    return theme.finished(figure, height=int(40 + 28 * (1 - layout.bottom)))


def _blocks(view: DiagramView, words: Words) -> str:
    """How many blocks there are like the one drawn, and which where some are not."""
    if len(view.alike) == view.n_layers:
        return words("plan_blocks", n=view.n_layers)
    return words("plan_blocks_some", which=runs(view.alike), n=view.n_layers)


def runs(numbers: Sequence[int]) -> str:
    """Whole numbers, neighbours as one: "0–2, 5"."""
    found: list[list[int]] = []
    for n in numbers:
        if found and found[-1][-1] == n - 1:
            found[-1].append(n)
        else:
            found.append([n])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


def _draw_box(figure: sheet.Sheet, box: Box, view: DiagramView, names: Names) -> None:
    """A step and its name; dotted and empty where only the other stack has one."""
    element, across = box.element, (box.left, box.right)
    colour = theme.ROLES[element.role if element else "residual"]
    boxes.rectangle(
        figure,
        across,
        (box.low, box.high),
        line={"color": colour, "width": 3 if box.differs and element else 1, "dash": "solid" if element else "dot"},
        fillcolor=theme.rgba(colour, 0.18 if element else 0.0),
    )
    if element:
        writing.note(figure, cut(name_of(element, *names)), sum(across) / 2, box.high - 0.4)
    if box.differs:
        _mark(figure, box.right, box.high - 0.02, yanchor="middle")
    if element and box.slot.endswith(".heads"):
        figure.shapes.extend(_head_shapes(view, across, (box.low + 0.12, box.low + 1.2)))


def _mark(figure: sheet.Sheet, x: float, y: float, **more: Any) -> None:
    """The sign of what differs."""
    writing.note(figure, "≠", x, y, bold=True, colour="#ffffff", bgcolor=theme.HIGHLIGHT, **more)


def _draw_branch(figure: sheet.Sheet, branch: Branch, view: DiagramView, names: Names, colour: str) -> None:
    """A sub-layer off the stream, through its boxes, and back to where it is added."""
    if branch.boxes is None:
        middle = (branch.top + branch.plus) / 2
        without = said(names.words, f"plan_without_{branch.sub}", "–")
        writing.note(figure, without, _BRANCH, middle)
        _mark(figure, _RIGHT, middle)
        return
    y = branch.top + _LEAVES
    boxes.line(figure, (_STREAM, y), (_BRANCH, y))
    for box in branch.boxes:
        if box.element:
            boxes.line(figure, (_BRANCH, y), (_BRANCH, box.high))
            y = box.low
        _draw_box(figure, box, view, names)
    boxes.line(figure, (_BRANCH, y), (_BRANCH, branch.plus))
    boxes.arrow(figure, (_BRANCH, branch.plus), (_STREAM + 0.13, branch.plus))
    curves.points(figure, [_STREAM], [branch.plus], colour, size=20)
    writing.letters(figure, [_STREAM], [branch.plus], ["+" if view.adds else "←"], size=15, colours="#ffffff")


def _draw_frame(figure: sheet.Sheet, layout: Layout, text: str) -> None:
    """The frame around the block, and how many there are of it."""
    edge = {"color": theme.ROLES["residual"], "width": 1, "dash": "dash"}
    boxes.rectangle(figure, (-0.12, _RIGHT + 0.12), layout.frame, line=edge, layer="below")
    writing.note(figure, text, _RIGHT, layout.frame[1] + 0.06, bold=True, xanchor="right", yanchor="bottom")


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
