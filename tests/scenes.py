"""Reading what the browser is sent: the inverse of viz_model.drawing.scene.encode, by other code than the browser's."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import cells
from viz_model.drawing.scene import Case, Scene, encode

_TYPES = {"u1": "<u1", "f4": "<f4", "i1": "<i1"}


class Sent(NamedTuple):
    """A header and its arrays; where they came rounded, as what the rounding makes of them."""

    header: dict[str, Any]
    arrays: list[np.ndarray]

    @property
    def cases(self) -> dict[Case, int]:
        """The selections that a picture holds, and which of its cases each is."""
        written = self.header["cases"]
        return {tuple(map(int, filter(None, name.split(",")))): n for name, n in written.items()}

    def field(self, name: str, case: int = 0) -> Any:
        """What one case has in the header, such as its "title"."""
        return self._plain(self.header.get(name), case)

    def panels(self, case: int = 0) -> list[str]:
        """The names of a case's panels, in order."""
        return [panel["id"] for panel in self._panels(case)]

    def panel(self, name: str, case: int = 0) -> dict[str, Any]:
        (found,) = [panel for panel in self._panels(case) if panel["id"] == name]
        return found

    def marks(self, case: int = 0, panel: str | None = None) -> list[dict[str, Any]]:
        """The marks of one case, with numbers for arrays; those of one panel, or all."""
        panels = [one for one in self._panels(case) if panel in (None, one["id"])]
        return [mark for one in panels for mark in one["marks"] if mark.get("present", True)]

    def mark(self, name: str, case: int = 0, panel: str | None = None) -> dict[str, Any]:
        (found,) = [mark for mark in self.marks(case, panel) if mark["id"] == name]
        return found

    def texts(self, case: int = 0) -> list[str]:
        """All that is written in the picture."""
        return [mark["text"] for mark in self.marks(case) if mark["kind"] == "text"]

    def cells(self, case: int = 0) -> Iterator[tuple[cells.Cells, np.ndarray]]:
        """Which numbers of the run cells are, and what is drawn of them."""
        for mark in self.marks(case):
            if mark["kind"] == "cells" and (
                which := cells.read({"cells": mark["where"]} if mark.get("where") else None)
            ):
                yield which, np.atleast_2d(mark["values"])

    def _panels(self, case: int) -> list[dict[str, Any]]:
        return [panel for panel in self.field("panels", case) if panel.get("present", True)]

    def _plain(self, value: Any, case: int) -> Any:
        match value:
            case {"case": values}:
                return self._plain(values[case], case)
            case {"array": n}:
                return self.arrays[n]
            case {"list": n}:
                return self.header["lists"][n]
            case {"list_of_case": numbers}:
                return self.header["lists"][numbers[case]]
            case dict():
                return {name: self._plain(one, case) for name, one in value.items()}
            case list():
                return [self._plain(one, case) for one in value]
        return value


def read(data: bytes) -> Sent:
    length = struct.unpack("<I", data[:4])[0]
    header, at = json.loads(data[4 : 4 + length]), 4 + length
    arrays = []
    for one in header["arrays"]:
        rows, is_lower = one["shape"][0] if one["shape"] else 1, one.get("lower", False)
        count = rows * (rows + 1) // 2 if is_lower else int(np.prod(one["shape"]))
        values = np.frombuffer(data, _TYPES[one["type"]], count, at)
        at += values.nbytes
        if "scale" in one:
            values = np.where(values == -128, np.nan, values * one["scale"])
        if is_lower:
            whole = np.full((rows, rows), np.nan, values.dtype)
            whole[np.tril_indices(rows)] = values
            values = whole
        arrays.append(values.reshape(one["shape"]))
    assert at == len(data), "no byte is left over"
    return Sent(header, arrays)


def sent(scene: Scene) -> Sent:
    """A scene as the browser gets it."""
    return read(encode(scene))
