"""Reading what the browser is sent: the inverse of viz_model.drawing.scene.encode, by other code than the browser's."""

import html
import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import cells, tables
from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene, encode

_PLACE = re.compile(r"\{\{(\w+)\}\}")


class Sent(NamedTuple):
    """A header and its arrays; where they came rounded, as what the rounding makes of them."""

    header: dict[str, Any]
    arrays: list[np.ndarray]

    def field(self, name: str) -> Any:
        """What the header has, such as its "title", with numbers for arrays."""
        return resolved(whole(self.header.get(name), self.header.get("lists", [])), self.arrays, {})

    def marks(self, panel: str | None = None) -> list[dict[str, Any]]:
        """The marks of one panel, or of all."""
        panels = [one for one in self.field("panels") if one.get("present", True) and panel in (None, one["id"])]
        return [mark for one in panels for mark in one["marks"] if mark.get("present", True)]

    def mark(self, name: str, panel: str | None = None) -> dict[str, Any]:
        (found,) = [mark for mark in self.marks(panel) if mark["id"] == name]
        return found

    def cells(self) -> Iterator[tuple[cells.Cells, np.ndarray]]:
        """Which numbers of the run cells are, and what is drawn of them."""
        for mark in self.marks():
            if mark["kind"] == "cells" and (said := mark.get("where")):
                lists = (tuple(said.get(name, ())) for name in ("rows", "columns", "beside"))
                yield cells.Cells(said["site"], tuple(said["where"]), *lists), np.atleast_2d(mark["values"])


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and not {"by", "among", "phrase", "each", "lengths", "scaled"}.isdisjoint(value)


def resolved(value: Any, arrays: list[np.ndarray], place: Mapping[str, int]) -> Any:
    """What stands for a selection in a message: tables looked up, at whatever depth."""
    match value:
        case {"array": n}:
            return arrays[n]
        case {"by": axes, "of": found}:
            more: Mapping[str, Any] = value
            found = resolved(found, arrays, place) if isinstance(found, dict) and "array" in found else found
            for axis in axes:
                fixed = more.get("fixed", {}).get(axis, place.get(axis, 0))
                n = int(resolved(fixed, arrays, place)) - more.get("start", {}).get(axis, 0)
                assert n >= 0, f"the entry of {axis} was not sent"
                found = found[n]
            found = resolved(found, arrays, place)
            return written(found, more["write"]) if more.get("write") and np.ndim(found) == 0 else found
        case {"names": names, "among": at}:
            names = names if any(map(_is_table, names)) else resolved(names, arrays, {})
            at = resolved(at, arrays, place)
            return [names[int(n)] for n in at] if np.ndim(at) else resolved(names[int(at)], arrays, place)
        case {"phrase": template, "values": values}:
            return _filled(resolved(template, arrays, place), _given(values, arrays, place))
        case {"each": template, "values": values}:
            given = {name: resolved(one, arrays, place) for name, one in values.items()}
            writes = {name: one.get("write") if isinstance(one, dict) else None for name, one in values.items()}
            count = max(len(one) for one in given.values() if not isinstance(one, str) and np.ndim(one))
            nths = ({name: _nth(one, n, writes[name]) for name, one in given.items()} for n in range(count))
            return [_filled(template, nth) for nth in nths]
        case {"lengths": values, "start": start, "end": end, "low": low, "high": high, "log": is_log}:
            low, high = (resolved(one, arrays, place) for one in (low, high))
            table = tables.Lengths(resolved(values, arrays, place), low, high, start, end, is_log)
            return tables.pick(table, {})
        case {"scaled": values, "times": times, **mask}:
            seen = resolved(mask["seen"], arrays, place) if "seen" in mask else None
            return tables.pick(tables.Scaled(resolved(values, arrays, place), times, seen), {})
        case dict():
            return {name: resolved(one, arrays, place) for name, one in value.items()}
        case list():
            return [resolved(one, arrays, place) for one in value]
    return value


def _nth(value: Any, n: int, write: str | None) -> Any:
    if isinstance(value, str) or not np.ndim(value):
        return value
    return written(value[n], write) if write and not isinstance(value[n], str) else value[n]


def _given(values: Mapping[str, Any], arrays: list[np.ndarray], place: Mapping[str, int]) -> dict[str, Any]:
    """What fills the places of a text; several names with what stands between them."""
    found = {name: resolved(one, arrays, place) for name, one in values.items()}
    joined = {name: one["between"] for name, one in values.items() if isinstance(one, dict) and "between" in one}
    return found | {name: sign.join(found[name]) for name, sign in joined.items() if isinstance(found[name], list)}


def _filled(template: str, values: Mapping[str, Any]) -> str:
    def said(found: re.Match[str]) -> str:
        value = values[found[1]]
        return " · ".join(value) if isinstance(value, list) else str(value)

    return _PLACE.sub(said, template)


def island(data: Sent, query: Mapping[str, str], side: int = 0) -> tuple[dict[str, Sent], list[str]]:
    """The pictures and sentences of an island at what an address says is selected; of two texts those of one side."""
    header = data.header
    lists = header.get("lists", [])
    asked = {name: int(query[name]) for name in header["usual"] if name in query}
    first, here = (
        {**header["usual"], **{name: min(n, sizes[name] - 1) for name, n in asked.items() if name in sizes}}
        for sizes in (header["sides"][0], header["sides"][side])
    )
    pictures: dict[str, Sent] = {}
    said: list[str] = []

    def told(lines: list[dict[str, Any]], place: Mapping[str, int]) -> None:
        said.extend(_line(whole(line, lists), data.arrays, place) for line in lines)

    def walk(items: list[dict[str, Any]], place: Mapping[str, int]) -> None:
        for item in items:
            match item["kind"]:
                case "scene":
                    shown = pictures[item["id"]] = Sent(resolved(whole(item, lists), data.arrays, place), data.arrays)
                    said.append(shown.header.get("note") or "")
                case "row" if item.get("sides"):
                    walk(item["columns"][side], here)
                case "row" | "section":
                    for column in item.get("columns", [item.get("items", [])]):
                        walk(column, place)
                case "prose":
                    told(item["lines"], place)
                case "chooser":
                    said.append(item["refused"])
                case "walk":
                    told([beat for chapter in item["chapters"] for beat in chapter["beats"]], place)
                case "offer" | "quiz":
                    told([item["said" if item["kind"] == "offer" else "asked"]], place)

    walk([{"kind": "prose", "lines": header["notes"]}, *header["items"], *header["end"]], first)
    return pictures, [html.unescape(re.sub(r"<[^>]+>", "", line)) for line in said]


def _line(line: dict[str, Any], arrays: list[np.ndarray], place: Mapping[str, int]) -> str:
    return _filled(resolved(line["html"], arrays, place), _given(line.get("values", {}), arrays, place))


def whole(value: Any, lists: list[Any]) -> Any:
    """Plain data with the long lists in their places."""
    match value:
        case {"list": n}:
            return lists[n]
        case dict():
            return {name: whole(one, lists) for name, one in value.items()}
        case list():
            return [whole(one, lists) for one in value]
    return value


def read(data: bytes) -> Sent:
    length = struct.unpack("<I", data[:4])[0]
    header, at = json.loads(data[4 : 4 + length]), 4 + length
    arrays = []
    for one in header["arrays"]:
        rows, is_lower = one["shape"][-1] if one["shape"] else 1, one.get("lower", False)
        whole_count = int(np.prod(one["shape"]))
        count = whole_count // rows * (rows + 1) // 2 if is_lower else whole_count
        values = np.frombuffer(data, f"<{one['type'].replace('b', 'u')}", count, at)
        at += -(-values.nbytes // 4) * 4
        values = (values.astype(np.uint32) << 16).view(np.float32) if one["type"] == "b2" else values
        if "scale" in one:
            values = np.where(values == -128, np.nan, values * one["scale"])
        if is_lower:
            whole = np.full((whole_count // rows**2, rows, rows), np.nan, values.dtype)
            whole[:, *np.tril_indices(rows)] = values.reshape(len(whole), -1)
            values = whole
        arrays.append(values.reshape(one["shape"]))
    assert at == len(data), "no byte is left over"
    return Sent(header, arrays)


def sent(scene: Scene) -> Sent:
    """A scene as the browser gets it."""
    return read(encode(scene))
