"""A scene as the browser reads it: a JSON header, and its numbers as bytes (``frontend/src/decode.js``)."""

import dataclasses
import functools
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene.marks import Cells, Items, Labels, Panel, Path, Pick, Rect, Scene, Select, Text, Texts
from viz_model.drawing.tables import DOTS, Among, By, Each, First, Lengths, Phrase, Scaled, Table

LONG = 8
"""Items from which on a list of names or of places is sent once, however many marks and selections have it."""

_KINDS = {Cells: "cells", Items: "items", Labels: "labels", Text: "text", Texts: "texts", Rect: "rect", Path: "path"}
# "rows" and "columns" are the counts of cells when they are drawn.
_RENAMED = {"rows": "names_of_rows", "columns": "names_of_columns"}
_NEEDED = {"x", "y", "width", "look", "role", "hidden", "top"}
"""Fields that the browser reads without asking whether they are there."""


class Arrays:
    """Arrays, and long lists, in the order in which they are sent, equal ones once.

    Attributes:
        is_of_layer: whether one of the tables that were written has some layers alone.
    """

    def __init__(self) -> None:
        self.is_of_layer = False
        self._known: dict[tuple[bytes, tuple[int, ...], bool], int] = {}
        self._listed: dict[tuple[type, tuple[Any, ...]], int] = {}
        self.headers: list[dict[str, Any]] = []
        self.parts: list[bytes] = []
        self.lists: list[tuple[Any, ...]] = []

    def listed(self, items: tuple[Any, ...], kind: type) -> dict[str, Any]:
        """What stands for a list of one kind of things in the header."""
        if (kind, items) not in self._listed:
            self._listed[kind, items] = len(self.lists)
            self.lists.append(items)
        return {"list": self._listed[kind, items]}

    def add(self, values: np.ndarray, is_coarse: bool) -> dict[str, Any]:
        """What stands for an array in the header."""
        is_whole = values.dtype.kind in "biu"
        kind = next(kind for kind in _WHOLE if values.max(initial=0) <= np.iinfo(kind).max) if is_whole else np.float32
        values = np.ascontiguousarray(values, kind)
        key = values.tobytes(), values.shape, is_coarse
        if key not in self._known:
            self._known[key] = len(self.parts)
            header: dict[str, Any] = {"type": f"{values.dtype.kind}{values.itemsize}", "shape": list(values.shape)}
            if not is_whole and _is_lower(values):
                header["lower"] = True
                values = values[..., ~_above(values.shape[-1])]
            part = values.tobytes()
            if is_coarse:
                finite = np.isfinite(values)
                step = float(np.abs(values[finite]).max(initial=0.0)) / 127 or 1.0
                # −128 is what is not finite.
                part = np.where(finite, np.rint(np.where(finite, values, 0) / step), -128).astype(np.int8).tobytes()
                header |= {"type": "i1", "scale": step}
            elif not is_whole and not (halves := values.reshape(-1).view(np.uint16).reshape(-1, 2))[:, 0].any():
                part = halves[:, 1].tobytes()  # of numbers in bfloat16, and of others that need no more
                header["type"] = "b2"
            self.headers.append(header)
            self.parts.append(part)
        return {"array": self._known[key]}


_WHOLE = (np.uint8, np.uint16, np.int32)
"""What whole numbers are sent as, the smallest that holds them; none of them is below 0."""


def _is_lower(values: np.ndarray) -> bool:
    """Whether nothing is above the diagonal, as in what a causal mask leaves: only the other half is sent then."""
    n = values.shape[-1] if values.ndim else 0
    return n > 1 and values.ndim > 1 and values.shape[-2] == n and bool(np.isnan(values[..., _above(n)]).all())


@functools.lru_cache(maxsize=64)
def _above(n: int) -> np.ndarray:
    """Cells above the diagonal, boolean [n, n]: made once, for a picture of all heads asks for each of them."""
    return ~np.tri(n, dtype=bool)


def with_bytes(header: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """A header and arrays of whole numbers from 0 to 255, in the order in which the browser finds them."""
    sent = Arrays()
    for values in arrays:
        sent.headers.append({"type": "u1", "shape": list(values.shape)})
        sent.parts.append(np.ascontiguousarray(values, np.uint8).tobytes())
    return framed(header, sent)


def framed(header: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """Length of the header, header, numbers: each array fills whole words of four bytes, as its reader needs it."""
    arrays = arrays or Arrays()
    lists = {"lists": arrays.lists} if arrays.lists else {}
    whole = {**header, "arrays": arrays.headers, **lists}
    head = json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
    return struct.pack("<I", len(head)) + head + b"".join(part + bytes(-len(part) % 4) for part in arrays.parts)


def encode(scene: Scene, palette: Mapping[str, Mapping[str, str]] | None = None) -> bytes:
    """A scene, with the tables that it has, in the colors of the app or in others, by "light" and "dark"."""
    arrays = Arrays()
    return framed({**plain(scene, arrays), "palette": palette or PALETTE}, arrays)


PALETTE = {page: theme.PALETTES[page] for page in ("light", "dark")}
"""The colors of both pages, by role."""


def plain(scene: Scene, arrays: Arrays) -> dict[str, Any]:
    """A scene as plain data, its numbers among ``arrays``."""
    own = {"kind": "scene", "id": scene.id, "even": scene.even, "chooses": scene.chooses}
    own |= {"option": scene.option} if scene.option else {}
    whole = _plain_scene(scene, arrays, False)
    return (
        own
        | {name: value for name, value in whole.items() if value is not None}
        | {"panels": [_alone(panel) for panel in whole["panels"]]}
    )


def value(given: Any, arrays: Arrays, *, is_coarse: bool = False) -> Any:
    """Anything that may be in a message as plain data: tables, arrays, texts, lists of such; numbers that are
    ``is_coarse`` go in one byte each.
    """
    return _plain(given, arrays, is_coarse)


def _alone(thing: Mapping[str, Any]) -> dict[str, Any]:
    """A thing without the fields that it does not have."""
    made = {name: value for name, value in thing.items() if value is not None}
    if "marks" in made:
        made["marks"] = [_alone(mark) for mark in made["marks"]]
    return made


def _plain_scene(scene: Scene, arrays: Arrays, is_coarse: bool) -> dict[str, Any]:
    panels = [_panel(panel, arrays, is_coarse) for panel in scene.panels]
    keys = [
        {
            "name": _plain(key.name, arrays, False) if isinstance(key.name, Table) else key.name,
            "marks": [_mark(mark, arrays, False) for mark in key.marks],
        }
        for key in scene.keys
    ]
    said = {name: _plain(getattr(scene, name), arrays, False) for name in ("title", "description")}
    below = {name: _plain(getattr(scene, name), arrays, False) or None for name in ("heading", "note")}
    legend = {"keys": keys, "keys_at": scene.keys_at} if keys else {}
    return {**said, "words": dict(scene.words), **legend, **below, "panels": panels}


def _panel(panel: Panel, arrays: Arrays, is_coarse: bool) -> dict[str, Any]:
    width = {"min": panel.min, "max": panel.most, "grow": panel.grow}
    made: dict[str, Any] = {"id": panel.id, "width": width, "height": _plain(panel.height, arrays, is_coarse)}
    if panel.present is not True:
        made["present"] = _plain(panel.present, arrays, is_coarse)
    if panel.act is not None:
        made |= {name: _plain(getattr(panel, name), arrays, is_coarse) for name in ("act", "label")}
    return made | {"marks": [_mark(mark, arrays, is_coarse) for mark in panel.marks]}


class _Field(NamedTuple):
    name: str
    sent: str
    """What the browser calls it."""
    default: Any
    is_needed: bool


def _fields(kind: type) -> tuple[_Field, ...]:
    renamed = _RENAMED if issubclass(kind, Cells) else {}
    return tuple(
        _Field(field.name, renamed.get(field.name, field.name), field.default, field.name in _NEEDED)
        for field in dataclasses.fields(kind)
    )


_FIELDS = {kind: _fields(kind) for kind in _KINDS}


def _mark(mark: Any, arrays: Arrays, is_coarse: bool) -> dict[str, Any]:
    """A mark's fields that are not as they are by default."""
    made: dict[str, Any] = {"kind": _KINDS[type(mark)]}
    for name, sent, default, is_needed in _FIELDS[type(mark)]:
        value = getattr(mark, name)
        if not is_needed and isinstance(value, _PLAIN) and value == default:
            continue
        # Only the numbers of cells are many; places are exact.
        made[sent] = _plain(value, arrays, name == "values" and (is_coarse or mark.coarse))
    return made


_LEAVES = frozenset((str, int, float, bool, type(None)))
_PLAIN = (str, int, float, tuple, type(None))


def _plain(value: Any, arrays: Arrays, is_coarse: bool) -> Any:
    if type(value) in _LEAVES:  # which nearly all are
        return value
    match value:
        case By():
            arrays.is_of_layer |= "layer" in value.start
            fixed = {axis: _plain(one, arrays, False) for axis, one in value.fixed.items()}
            given = {"fixed": fixed, "start": dict(value.start), "write": value.write}
            found = {"by": value.axes, "of": _plain(value.values, arrays, is_coarse)}
            return found | {name: one for name, one in given.items() if one}
        case Among():
            how: dict[str, Any] = {"code": value.is_code, "between": "" if value.between == DOTS else value.between}
            found = {"names": _plain(value.names, arrays, False), "among": _plain(value.at, arrays, False)}
            return found | {name: one for name, one in how.items() if one}
        case Phrase() | Each():
            filled = {name: _plain(one, arrays, False) for name, one in value.values.items()}
            kind = "phrase" if isinstance(value, Phrase) else "each"
            return {kind: _plain(value.template, arrays, False), "values": filled}
        case Lengths():
            ends: dict[str, Any] = {
                "start": value.start,
                "end": value.end,
                "low": _plain(value.low, arrays, False),
                "high": _plain(value.high, arrays, False),
                "log": value.is_log,
            }
            return {"lengths": _plain(value.values, arrays, False), **ends}
        case Scaled():
            mask = {} if value.seen is None else {"seen": _plain(value.seen, arrays, False)}
            return {"scaled": _plain(value.values, arrays, False), "times": value.times, **mask}
        case First():
            return {"first": [_plain(one, arrays, is_coarse) for one in value.tables]}
        case np.ndarray():
            return arrays.add(value, is_coarse) if value.ndim else value.item()
        case Where():
            return {name: _plain(part, arrays, is_coarse) for name, part in value._asdict().items() if part != ()}
        case Select():
            return {"select": {name: n for name, n in vars(value).items() if n is not None}}
        case Pick():
            return {"pick": value.value}
        case np.generic():
            return value.item()
        case tuple() | list():
            kinds = set(map(type, value)) if len(value) >= LONG else ()
            if kinds in ({str}, {int}):
                return arrays.listed(tuple(value), *kinds)
            return [_plain(item, arrays, is_coarse) for item in value]
        case _:
            return value
