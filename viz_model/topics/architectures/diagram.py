"""The block diagram: a stack from the top down, so laid out that it can stand beside another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import ModelConfig, Side
from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Text
from viz_model.drawing.scene.writing import begun
from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair, parts, plan
from viz_model.topics.architectures.pair import One
from viz_model.topics.architectures.plan import Element


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
                n_kv_heads=config.of_layer(stack.side, stack.layer).n_kv_heads,
                adds=config.residual,
            )

        return view(plans[0], first), view(plans[1], second)

    @property
    def shown(self) -> tuple[object, ...]:
        """What is drawn of it."""
        said = {key: (element.told, element.role) for key, element in self.elements.items()}
        return said, self.slots, self.differing, self.alike

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


def name_of(look: Look, element: Element) -> str:
    """What stands in a box: a text, or the labels of the values of a step that there is none of."""
    labels = look.words("plan_comma").join(dict.fromkeys(look.t.site_label(site) for site in element.sites))
    otherwise = look.words("plan_variant", variant=element.variant, labels=labels) if element.variant else labels
    return parts.said(look, element.text_key, otherwise, **element.values)


# Where it stands in the picture: from ``LEFT`` to ``RIGHT`` across its width, and so many pixels a step down.
_LEFT, _WIDE, _TOP, _STEP = -0.2, 3.75, 1.1, 28.0


def _x(x: float) -> tuple[float, float]:
    return (x - _LEFT) / _WIDE, 0.0


def _y(y: float) -> float:
    return (_TOP - y) * _STEP


def views(look: Look, layer: int) -> tuple[DiagramView, DiagramView]:
    """Both stacks with the block of a layer, of the other model the nearest."""
    first, second = pair.both(look)
    there = int(pair.layers_of(look, second)[layer])
    return DiagramView.pair(Stack(first.config, first.side, layer), Stack(second.config, second.side, there))


def title(look: Look) -> Iterator[Line]:
    yield look.title("plan_title", **parts.facts(look))


def tell(look: Look) -> Iterator[Line]:
    yield look.text("see", **pair.names(look), **parts.facts(look))


def draw(look: Look, one: One) -> Scene:
    """One stack from the top down, its block in a frame; of layers that are built otherwise each has its own."""
    view = views(look, look.layer)[one.which]
    scene = of_view(look, view, one.name, one.which)
    is_one = all(views(look, layer)[one.which].shown == view.shown for layer in look.layers)
    return scene if is_one else look.only_here(scene)


def formulas(look: Look, one: One) -> Iterator[Line]:
    """Of the steps that the other has otherwise, or not at all."""
    found = [_formulas(look, views(look, layer)[one.which]) for layer in look.layers]
    texts = list(dict.fromkeys(found))
    yield Line(one.code_name, "part")
    yield Line(Among(texts, look.by("layer", np.array([texts.index(text) for text in found]))))


def _formulas(look: Look, view: DiagramView) -> str:
    steps = (
        "\n\n".join([f"**{name_of(look, element)}**", *(f"${site.formula}$" for site in element.sites)])
        for element in view.changed()
    )
    return "\n\n".join(steps)


def of_view(look: Look, view: DiagramView, name: str, which: int) -> Scene:
    """The picture of a stack; ``which`` is 0 or 1: the model's color."""
    at, color, before = view.heights(), pair.COLORS[which], None
    lines: list[Mark] = []
    boxes: list[Mark] = []
    for slot in view.slots:
        group, _, step = slot.partition(".")
        if group not in ("embed", "end") and (step != "norm_post" or f"{group}.add" not in view.elements):
            continue
        if slot in view.elements:
            if before is not None:
                lines.append(_line(f"stream.{slot}", (_STREAM, before), (_STREAM, at[slot][1]), color, 4))
            before = at[slot][0]
        boxes += _box(look, view, slot, (0.0, _RIGHT if group in ("embed", "end") else 2 * _STREAM), at[slot])
    for sub in view.sublayers:
        boxes += _branch(look, view, sub, at, color)
    block = [slot for slot in view.slots if slot.partition(".")[0] in view.sublayers]
    low, high = at[block[-1]][0] - 0.22, at[block[0]][1] + 0.48
    marks = [
        *lines,
        Text(id="name", text=f"{pair.SIGNS[which]} {name}", x=(0.5, 0), y=_y(0.7), anchor="middle", size=14, bold=True,
             fill=color),
        _rect("frame", (-0.12, _RIGHT + 0.12), (low, high), stroke="residual", dash="5 4"),
        Text(id="blocks", text=_blocks(look, view), x=_x(_RIGHT), y=_y(high + 0.3), anchor="end", bold=True),
        *boxes,
    ]  # fmt: skip
    panel = Panel(id="plan", marks=marks, height=_y(min(low for low, _ in at.values()) - 0.1))
    return Scene(id=f"architectures.plan{which}", panels=[panel], title=look.words("plan_alt", model=name))


def _blocks(look: Look, view: DiagramView) -> str:
    """How many blocks there are like the one drawn, and which where some are not."""
    if len(view.alike) == view.n_layers:
        return look.words("plan_blocks", n=view.n_layers)
    return look.words("plan_blocks_some", which=runs(view.alike), n=view.n_layers)


def runs(numbers: Sequence[int]) -> str:
    """Whole numbers, neighbors as one: "0–2, 5"."""
    found: list[list[int]] = []
    for n in numbers:
        if found and found[-1][-1] == n - 1:
            found[-1].append(n)
        else:
            found.append([n])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


def _line(id: str, start: tuple[float, float], end: tuple[float, float], color: str, thick: float = 1) -> Path:
    ends = [(_x(x), (0.0, _y(y))) for x, y in (start, end)]
    return Path(id=id, x=np.array([x for x, _ in ends]), y=np.array([y for _, y in ends]), stroke=color, thick=thick)


def _rect(id: str, across: tuple[float, float], up: tuple[float, float], **look: Any) -> Rect:
    width = (across[1] - across[0]) / _WIDE, 0.0
    return Rect(id=id, x=_x(across[0]), y=_y(up[1]), width=width, height=(up[1] - up[0]) * _STEP, **look)


def _box(look: Look, view: DiagramView, slot: str, across: tuple[float, float], up: tuple[float, float]) -> list[Mark]:
    """A step and its name; dotted and empty where only the other stack has one."""
    element, differs = view.elements.get(slot), slot in view.differing
    role = element.role if element else "residual"
    edge = {"stroke": role, "thick": 3 if differs and element else 1, "dash": None if element else "2 3"}
    marks: list[Mark] = [_rect(f"edge.{slot}", across, up, **edge)]
    if element:
        name = begun(name_of(look, element), 38)
        marks.insert(0, _rect(f"box.{slot}", across, up, fill=role, opacity=0.18))
        marks.append(Text(id=f"name.{slot}", text=name, x=_x(sum(across) / 2), y=_y(up[1] - 0.4), anchor="middle"))
    if element and slot.endswith(".heads"):
        marks += _heads(view, across, (up[0] + 0.12, up[0] + 1.2))
    if differs:
        marks += _differs(slot, across[1], up[1] - 0.02)
    return marks


def _differs(id: str, x: float, y: float) -> list[Mark]:
    """The sign of what differs."""
    at, middle = _x(x)[0], _y(y)
    return [
        Rect(id=f"differs.{id}", x=(at, -9), y=middle - 8, width=18, height=16, fill="pattern", radius=3),
        Text(id=f"sign.{id}", text="≠", x=(at, 0), y=middle, anchor="middle", bold=True, fill="white"),
    ]


def _branch(look: Look, view: DiagramView, sub: str, at: Mapping[str, tuple[float, float]], color: str) -> list[Mark]:
    """A sub-layer off the stream, through its boxes, and back to where it is added."""
    slots = [slot for slot in view.slots if slot.startswith(f"{sub}.") and not slot.endswith("norm_post")]
    if not slots:
        return []
    top, plus = at[slots[0]][1], sum(at[slots[-1]]) / 2
    if slots[-1] not in view.elements:
        without = parts.said(look, f"plan_without_{sub}", "–")
        text = Text(id=f"without.{sub}", text=without, x=_x(_BRANCH), y=_y((top + plus) / 2), anchor="middle")
        return [text, *_differs(sub, _RIGHT, (top + plus) / 2)]
    y = top + _LEAVES
    lines = [((_STREAM, y), (_BRANCH, y))]
    marks: list[Mark] = []
    for slot in slots[:-1]:
        if slot in view.elements:
            lines.append(((_BRANCH, y), (_BRANCH, at[slot][1])))
            y = at[slot][0]
        marks += _box(look, view, slot, (_BESIDE, _RIGHT), at[slot])
    lines.append(((_BRANCH, y), (_BRANCH, plus)))
    back = [_x(_BRANCH), (_x(_STREAM + 0.13)[0], 0.0)]
    return [
        *(_line(f"line.{sub}.{n}", *ends, "residual") for n, ends in enumerate(lines)),
        Path(id=f"back.{sub}", x=np.array(back), y=np.array([_y(plus)] * 2), stroke="residual", thick=1, head=7),
        *marks,
        Items(id=f"sum.{sub}", x=np.array([_x(_STREAM)]), y=np.array([_y(plus)]), symbol="circle", size=20, fill=color,
              walk=False),
        Text(id=f"sign.{sub}", text="+" if view.adds else "←", x=_x(_STREAM), y=_y(plus), anchor="middle", size=15,
             fill="white"),
    ]  # fmt: skip


_MOST_SQUARES = 48


def _heads(view: DiagramView, across: tuple[float, float], up: tuple[float, float]) -> list[Mark]:
    """Query heads above, each joined to the key–value head that it reads; many are drawn by their first ones."""
    per = view.n_heads // view.n_kv_heads
    groups = view.n_kv_heads if view.n_heads <= _MOST_SQUARES else max(1, _MOST_SQUARES // per)
    shown = min(view.n_heads, groups * per, _MOST_SQUARES)
    width = (across[1] - across[0] - 0.2) / shown
    middle = [across[0] + 0.1 + width * (i + 0.5) for i in range(shown)]
    half, tall = min(0.42 * width, 0.16), 0.3
    homes = [float(np.mean(middle[i : i + per])) for i in range(0, shown, per)]
    marks: list[Mark] = []
    for i, x in enumerate(middle):
        marks.append(_rect(f"query.{i}", (x - half, x + half), (up[1] - tall, up[1]), fill="query"))
        marks.append(_line(f"reads.{i}", (x, up[1] - tall), (homes[i // per], up[0] + tall), "residual"))
    for i, x in enumerate(homes):
        marks.append(_rect(f"key.{i}", (x - half, x), (up[0], up[0] + tall), fill="key"))
        marks.append(_rect(f"value.{i}", (x, x + half), (up[0], up[0] + tall), fill="value"))
    # Both stacks have attention heads, and the decoder those of cross-attention too.
    return [replace(mark, id=f"{mark.id}.{up[1]:.2f}") for mark in marks]
