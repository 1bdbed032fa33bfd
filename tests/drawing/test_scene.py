"""Scenes are sent as they are: every number, what it stands for, and what is masked, never more than the budget."""

import json
from typing import Any

import numpy as np
import pytest
import scenes

from viz_model.drawing import heatmap, matrix
from viz_model.drawing.chips import cut_characters
from viz_model.drawing.heatmap import Pool
from viz_model.drawing.scene import Cells, Mark, Panel, Scene, encode, seen
from viz_model.tokenizers.tokenizer import cl100k_base

RNG = np.random.default_rng(0)


def scene(*marks: Mark, title: str = "title", **more: Any) -> Scene:
    return Scene(id="picture", panels=[Panel(id="panel", marks=marks, height=100)], title=title, **more)


def test_equal_arrays_are_one_wherever_they_stand() -> None:
    values = RNG.normal(size=(5, 5))
    sent = scenes.sent(scene(*(Cells(id=f"cells.{n}", values=values.copy(), top=1.0) for n in range(4))))
    assert len(sent.arrays) == 1
    flat = scenes.sent(scene(Cells(id="a", values=values, top=1.0), Cells(id="b", values=values.ravel(), top=1.0)))
    assert [array.shape for array in flat.arrays] == [(5, 5), (25,)], "another shape is another array"


def test_the_header_is_json_whatever_the_numbers_are() -> None:
    odd = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    data = encode(scene(Cells(id="cells", values=odd, top=1.0), title="“quotes”\n\\ 小猫"))
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length], parse_constant=pytest.fail)  # a browser refuses NaN and Infinity
    assert header["title"] == "“quotes”\n\\ 小猫"
    np.testing.assert_array_equal(scenes.read(data).mark("cells")["values"], odd)


@pytest.mark.parametrize("is_coarse", [False, True])
def test_of_what_a_mask_halves_half_is_sent(is_coarse: bool) -> None:
    side = 40
    whole, below = RNG.normal(size=(side, side)).astype(np.float32), np.triu(np.ones((side, side), bool), 1)
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


def names(shape: tuple[int, int]) -> list[tuple[str, ...]]:
    return [tuple(f"{axis}{n}" for n in range(size)) for axis, size in zip("rc", shape, strict=True)]


@pytest.mark.parametrize("look", ["signed", "share"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 40), (88, 88)])
def test_a_matrix_is_sent_number_by_number(shape: tuple[int, int], look: str) -> None:
    values, (rows, columns) = RNG.normal(size=shape), names(shape)
    drawn = matrix.scene("picture", "title", values, rows, columns, axes=("from", "to"), top=0.5, look=look)
    found = scenes.sent(seen(drawn, {"token": 0}))
    cells = found.mark("cells")
    np.testing.assert_array_equal(cells["values"], values.astype(np.float32))
    assert cells["top"] == 0.5, "one scale for all rows"
    assert found.mark("rows")["texts"] == list(rows) and found.mark("columns")["texts"] == list(columns)
    assert found.mark("row axis")["text"] == "from" and found.mark("column axis")["text"] == "to"
    assert found.mark("selected")["y"] == cells["y"] and found.mark("selected")["x"] == cells["x"]
    assert found.header["title"] == "title"


def test_a_matrix_without_a_scale_names_what_its_columns_belong_to() -> None:
    rows, columns = names((2, 6))
    parts = (("a", 2), ("b", 4))
    drawn = matrix.scene("picture", "", np.ones((2, 6)), rows, columns, frames=False, right=matrix.BARE, parts=parts)
    found = scenes.sent(drawn)
    assert [one["id"] for one in found.marks()] == ["cells", "rows", "part.0", "cut.2", "part.2"]
    share, pixels = found.mark("cells")["width"]
    assert found.mark("cut.2")["x"] == pytest.approx([share / 3, found.mark("cells")["x"] + pixels / 3])
    assert [found.mark(f"part.{n}")["text"] for n in (0, 2)] == ["a", "b"]


def test_a_large_matrix_is_pooled() -> None:
    values = RNG.normal(size=(300, 300))
    pool = heatmap.pool_of(values)
    found = heatmap.pooled(values, pool)
    assert pool != Pool() and found.size <= heatmap.MOST_CELLS
    assert np.abs(found).max() == np.float32(np.abs(values).max())


@pytest.mark.parametrize("text", ["我爱深度学习", "a 猫 b", "plain words", "😀垫"])
def test_pieces_of_a_character_stand_over_it(text: str) -> None:
    tokens = cl100k_base().tokens(cl100k_base().encode(text))
    cut = list(cut_characters(tokens))
    inside = {n for start, stop, _ in cut for n in range(start, stop)}
    assert inside == {
        n for n, token in enumerate(tokens) if token.bytes.decode(errors="ignore").encode() != token.bytes
    }
    assert all(b"".join(token.bytes for token in tokens[a:b]).decode() == spelt for a, b, spelt in cut)
