"""Scenes of many selections are sent as one: what is equal once, what differs by case, never more than the budget."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
import pytest
import scenes

from viz_model.drawing.scene import Cells, Mark, Panel, Rect, Scene, Text, encode

module = importlib.import_module("viz_model.drawing.scene.encode")  # the package has a function of that name

RNG = np.random.default_rng(0)


KINDS: dict[str, type[Cells | Rect | Text]] = {"cells": Cells, "rect": Rect, "text": Text}


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def scene(*marks: Mark, title: str = "title", **more: Any) -> Scene:
    return Scene(id="picture", panels=[Panel(id="panel", marks=marks, height=100)], title=title, **more)


def test_a_single_number_stays_one() -> None:
    assert module.value(np.array(2.0, np.float32), module.Arrays()) == 2


def test_equal_arrays_are_one_wherever_they_stand() -> None:
    values = numbers(5, 5)
    sent = scenes.sent(scene(*(Cells(id=f"cells.{n}", values=values.copy(), top=1.0) for n in range(4))))
    assert len(sent.arrays) == 1
    flat = scenes.sent(scene(Cells(id="a", values=values, top=1.0), Cells(id="b", values=values.ravel(), top=1.0)))
    assert [array.shape for array in flat.arrays] == [(5, 5), (25,)], "another shape is another array"


def strict(text: str) -> Any:
    """JSON as a browser reads it: without NaN and Infinity."""

    def refused(constant: str) -> float:
        raise AssertionError(f"a browser refuses {constant}")

    return json.loads(text, parse_constant=refused)


def test_the_header_is_json_whatever_the_numbers_are() -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    data = encode(scene(Cells(id="cells", values=odd, top=1.0), title="“quotes”\n\\ 小猫"))
    length = int.from_bytes(data[:4], "little")
    assert strict(data[4 : 4 + length].decode())["title"] == "“quotes”\n\\ 小猫"
    np.testing.assert_array_equal(scenes.read(data).mark("cells")["values"], odd)


@pytest.mark.parametrize("is_coarse", [False, True])
def test_of_what_a_mask_halves_half_is_sent(is_coarse: bool) -> None:
    side = 40
    whole, below = numbers(side, side), np.triu(np.ones((side, side), bool), 1)
    sizes = []
    for hidden in (np.zeros_like(below), below, below.T):
        values = np.where(hidden, np.nan, whole)
        data = encode(scene(Cells(id="cells", values=values, top=1.0, coarse=is_coarse)))
        shown = scenes.read(data).mark("cells")["values"]
        np.testing.assert_array_equal(np.isnan(shown), hidden)
        np.testing.assert_allclose(shown, values.astype("f4"), atol=np.abs(whole).max() / 250 if is_coarse else 0)
        sizes.append(len(data))
    saved = side * (side - 1) // 2 * (1 if is_coarse else 4)
    assert sizes[0] - 2 * saved < sizes[1] < sizes[0] - 0.9 * saved  # behind the diagonal nothing is sent
    assert abs(sizes[2] - sizes[0]) < 40  # before it, NaN are
