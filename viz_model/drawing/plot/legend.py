"""The names of what is drawn, each beside what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from viz_model.drawing.plot.writing import words
from viz_model.drawing.scene import Items, Key, Mark, Path
from viz_model.drawing.sheet import Sheet

MIDDLE = 7
"""Of a key's height, in pixels."""


def keys(sheet: Sheet, drawn: dict[int, list[Mark]]) -> list[Key]:
    """A line for each trace with a name, and one for those of a group."""
    if not sheet.layout.get("showlegend"):
        return []
    groups = set()
    found = []
    for n, trace in enumerate(sheet.traces):
        group = trace.get("legendgroup")
        if trace.get("showlegend") is False or not trace.get("name") or (group and group in groups):
            continue
        groups.add(group)
        marks = tuple(_samples(drawn.get(n, [])))
        found.append((trace.get("legendrank") or 1000, n, Key(name=words(str(trace["name"])), marks=marks)))
    is_back = (sheet.layout.get("legend") or {}).get("traceorder") == "reversed"
    return [key for *_, key in sorted(found, key=lambda one: one[:2], reverse=is_back)]


def _samples(marks: list[Mark]) -> Iterator[Mark]:
    """What they look like, within 28 by 14 pixels."""
    for mark in marks:
        match mark:
            case Path() if mark.id.startswith("line."):
                xs = [2.0, 26.0, 26.0, 2.0] if mark.fill else [2.0, 26.0]
                ys = [2.0, 2.0, 12.0, 12.0] if mark.fill else [MIDDLE] * 2
                yield replace(mark, x=np.array(xs), y=np.array(ys), head=0)
            case Items() if mark.width is None and mark.symbol:
                one = _first(mark)
                size: Any = one.size
                yield replace(one, x=np.array([14.0]), y=np.array([float(MIDDLE)]), size=min(11, max(6, size)))
            case Items() if mark.width is not None:
                one = _first(mark)
                yield replace(
                    one, x=np.array([7.0]), y=np.array([1.0]), width=np.array([14.0]), height=np.array([12.0])
                )
            case _:
                pass


def _first(items: Items) -> Items:
    """The first of them alone, saying nothing."""

    def one(value: Any) -> Any:
        return value[0] if isinstance(value, (list, tuple)) and value else value

    look = {name: one(getattr(items, name)) for name in ("symbol", "size", "fill", "stroke", "thick", "opacity")}
    return replace(items, **look, labels=(), picks=(), where=None, walk=False)
