"""Scenes of many selections are sent as one: what is equal once, what differs by case, never more than the budget."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scenes

from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.cells import Cells as Where
from viz_model.drawing.scene import (
    Case,
    Cells,
    Mark,
    Merged,
    Panel,
    Path,
    Pick,
    Rect,
    Scene,
    Select,
    Text,
    encode,
    merged,
)
from viz_model.drawing.scene import points as along

module = importlib.import_module("viz_model.drawing.scene.encode")  # the package has a function of that name

RNG = np.random.default_rng(0)


KINDS: dict[str, type[Cells | Rect | Text]] = {"cells": Cells, "rect": Rect, "text": Text}


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def scene(*marks: Mark, title: str = "title", **more: Any) -> Scene:
    return Scene(id="picture", panels=[Panel(id="panel", marks=marks, height=100)], title=title, **more)


def of(scenes_: Mapping[Case, Scene], present: Case, by: tuple[str, ...] = ("head",)) -> tuple[Merged, scenes.Sent]:
    found = merged(by, scenes_, present)
    return found, scenes.read(found.data)


def raw(sent: scenes.Sent) -> dict[str, Any]:
    """The marks of the header as they are written, by their names."""
    return {mark["id"]: mark for mark in sent.header["panels"][0]["marks"]}


def test_what_is_equal_is_sent_once_and_what_differs_by_case() -> None:
    shared, own = numbers(3, 4), [numbers(3, 4) for _ in range(3)]
    drawn: dict[Case, Scene] = {
        (head,): scene(
            Cells(id="shared", values=shared.copy(), top=2.0),
            Cells(id="own", values=own[head], top=2.0, rows=("a", "b", "c")),
            Text(id="name", text=f"head {head}", x=4),
            title=f"Head {head}",
        )
        for head in range(3)
    }
    found, sent = of(drawn, (1,))
    assert found.cases == {(0,), (1,), (2,)} and sent.cases[(1,)] == 0, "the present selection is the first"
    assert len(sent.arrays) == 4 and sent.header["by"] == ["head"]
    marks = raw(sent)
    assert marks["shared"]["values"].keys() == {"array"} and marks["own"]["values"].keys() == {"case"}
    assert marks["own"]["names_of_rows"] == ["a", "b", "c"] and marks["name"]["x"] == 4
    for (head,), case in sent.cases.items():
        np.testing.assert_array_equal(sent.mark("own", case)["values"], own[head])
        np.testing.assert_array_equal(sent.mark("shared", case)["values"], shared)
        assert sent.mark("name", case)["text"] == f"head {head}" and sent.field("title", case) == f"Head {head}"


def test_every_case_is_what_would_be_sent_of_it_alone() -> None:
    """Marks that come and go, panels that do, fields that only some have: nothing of one case leaks into another."""

    def drawn(layer: int, head: int) -> Scene:
        marks: list[Mark] = [
            Cells(id="cells", values=numbers(2, 3), top=1.0, where=Where("site", (layer, ROW, COLUMN))),
            Rect(id="frame", x=head, width=(1, -4), stroke="accent" if head else None, opacity=1.0 if layer else 0.5),
            *(Text(id=f"only.{head}.{n}", text=str(n)) for n in range(head)),
        ]
        panels = [Panel(id="first", marks=marks, height=100 + layer, act=Select(head=head) if layer else None)]
        if head % 2:
            panels.append(Panel(id="odd", marks=[Text(id="name", text="odd")], height=20))
        return Scene(id="picture", panels=panels, title="title", description=f"of layer {layer}")

    cases: dict[Case, Scene] = {
        (layer, head): drawn(layer, head) for layer, head in itertools.product(range(2), range(3))
    }
    _, sent = of(cases, (1, 1), ("layer", "head"))
    for case, n in sent.cases.items():
        alone = scenes.sent(cases[case])
        assert sent.panels(n) == alone.panels() and sent.field("description", n) == alone.field("description")
        for panel in alone.panels():
            together, single = sent.panel(panel, n), alone.panel(panel)
            assert together["height"] == single["height"] and together.get("act") == single.get("act")
            shown, expected = (
                {mark["id"]: {key: value for key, value in mark.items() if key != "present" and value is not None}
                 for mark in one.marks(m, panel)}
                for one, m in ((sent, n), (alone, 0))
            )  # fmt: skip
            assert shown.keys() == expected.keys()
            for name, fields in expected.items():
                assert fields.keys() <= shown[name].keys(), name
                usual = {field.name: field.default for field in dataclasses.fields(KINDS[fields["kind"]])}
                for key, value in shown[name].items():
                    wanted = fields.get(key, usual.get(key))
                    np.testing.assert_array_equal(value, wanted, err_msg=f"{name}.{key}")


def test_marks_of_two_kinds_may_have_one_name() -> None:
    _, sent = of(
        {(0,): scene(Rect(id="mark", width=5)), (1,): scene(Path(id="mark", x=numbers(2), y=numbers(2)))}, (0,)
    )
    assert [sent.mark("mark", case)["kind"] for case in sent.cases.values()] == ["rect", "path"]
    assert all(isinstance(mark["kind"], str) for mark in sent.header["panels"][0]["marks"])


def test_what_one_case_has_by_default_is_written_where_another_has_it_otherwise() -> None:
    drawn: dict[Case, Scene] = {
        (0,): scene(Text(id="note", text="7.7%"), Text(id="plain", text="same")),
        (1,): scene(Text(id="note", text="7.7%", fill="muted", anchor="end"), Text(id="plain", text="same")),
    }
    _, sent = of(drawn, (0,))
    note = raw(sent)["note"]
    assert note["fill"] == {"case": ["ink", "muted"]} and note["anchor"] == {"case": ["start", "end"]}
    assert "fill" not in raw(sent)["plain"]


def test_a_single_number_stays_one() -> None:
    """The browser takes a list for no number, and would not know which option of a question is right."""
    assert module.value(np.array(2.0, np.float32), module.Arrays()) == 2


def test_equal_arrays_are_one_wherever_they_stand() -> None:
    values = numbers(5, 5)
    sent = scenes.sent(scene(*(Cells(id=f"cells.{n}", values=values.copy(), top=1.0) for n in range(4))))
    assert len(sent.arrays) == 1
    flat = scenes.sent(scene(Cells(id="a", values=values, top=1.0), Cells(id="b", values=values.ravel(), top=1.0)))
    assert [array.shape for array in flat.arrays] == [(5, 5), (25,)], "another shape is another array"


def test_a_line_keeps_its_place_and_an_action_its_value() -> None:
    line = Path(id="line", x=along([0.0, 0.5, 1.0], share=1.0), y=along([0.0, 1.0, 0.25], pixels=80.0), stroke="key")
    sent = scenes.sent(scene(line, Rect(id="open", width=(1, 0), height=20, act=Pick({"page": "cost"}), label="Cost")))
    np.testing.assert_array_equal(sent.mark("line")["x"], [[0, 0], [0.5, 0], [1, 0]])
    np.testing.assert_array_equal(sent.mark("line")["y"], [[0, 0], [0, 80], [0, 20]])
    assert sent.mark("open")["act"] == {"pick": {"page": "cost"}} and sent.mark("open")["label"] == "Cost"
    selecting = scenes.sent(scene(Rect(id="row", act=Select(token=3), label="token")))
    assert selecting.mark("row")["act"] == {"select": {"token": 3}}, "what is not selected stays as it is"


def strict(text: str) -> Any:
    """JSON as a browser reads it: without NaN and Infinity."""

    def refused(constant: str) -> float:
        raise AssertionError(f"a browser refuses {constant}")

    return json.loads(text, parse_constant=refused)


@pytest.mark.parametrize("budget", [10**9, 1])
def test_the_header_is_json_whatever_the_numbers_are(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", budget)
    odd = np.array([[np.nan, np.inf], [-np.inf, 0.0]])
    drawn: dict[Case, Scene] = {
        (n,): scene(Cells(id="cells", values=odd * (n + 1), top=1.0), title="“quotes”\n\\ 小猫") for n in range(2)
    }
    data = merged(("head",), drawn, (0,)).data
    length = int.from_bytes(data[:4], "little")
    assert strict(data[4 : 4 + length].decode())["title"] == "“quotes”\n\\ 小猫"
    np.testing.assert_array_equal(scenes.read(data).mark("cells")["values"], odd)


def matrices(count: int, side: int = 40) -> dict[Case, Scene]:
    """Pictures of heads, of which each differs, with masked cells, at scales far from each other."""
    hidden = np.triu(np.ones((side, side), bool), 1)
    return {
        (n,): scene(Cells(id="cells", values=np.where(hidden, np.nan, numbers(side, side) * 10.0 ** (n - 3)), top=1.0))
        for n in range(count)
    }


def test_beyond_the_budget_others_are_rounded_within_half_a_step_and_the_present_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = matrices(6)
    exact, _ = of(drawn, (2,))
    monkeypatch.setattr(module, "MOST_BYTES", len(exact.data) // 2)
    found, sent = of(drawn, (2,))
    assert found.cases == exact.cases and len(found.data) <= module.MOST_BYTES
    assert exact.is_exact and not found.is_exact
    for (head,), case in sent.cases.items():
        values, shown = drawn[(head,)].panels[0].marks[0].values, sent.mark("cells", case)["values"]  # type: ignore[union-attr]
        np.testing.assert_array_equal(np.isnan(shown), np.isnan(values))
        step = 0.0 if head == 2 else np.nanmax(np.abs(values)) / 127
        assert np.nanmax(np.abs(shown - values)) <= step / 2 * (1 + 1e-5)


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


def test_maps_side_by_side_have_room_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 8_000)
    drawn = matrices(12)
    one, _ = of(drawn, (0,))
    more, _ = of({case: dataclasses.replace(each, even=True) for case, each in drawn.items()}, (0,))
    assert len(one.data) <= 8_000 < len(more.data) <= 16_000 and len(one.cases) < len(more.cases)


def test_a_long_list_is_sent_once_however_many_have_it() -> None:
    names, others = tuple(f"token {n}" for n in range(12)), tuple(f"word {n}" for n in range(12))
    where = Where("blocks.0.attn.scores", (0, 1, COLUMN), columns=tuple(range(40, 52)))

    def row(name: str, columns: tuple[str, ...]) -> Cells:
        return Cells(id=name, values=numbers(1, 12), top=1.0, rows=("a",), columns=columns, where=where)

    cases: dict[Case, Scene] = {
        (n,): scene(row("first", names), row("second", others if n else names)) for n in range(3)
    }
    found, sent = of(cases, (0,))
    for text in ("token 7", "word 7", "46,47,48"):
        assert found.data.count(text.encode()) == 1
    for (n,), case in sent.cases.items():
        first, second = sent.mark("first", case), sent.mark("second", case)
        assert tuple(first["names_of_columns"]) == names and first["names_of_rows"] == ["a"]
        assert tuple(second["names_of_columns"]) == (others if n else names)
        assert tuple(first["where"]["columns"]) == where.columns


def test_lists_of_what_is_left_out_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 13_000)
    drawn: dict[Case, Scene] = {
        (n,): scene(Cells(id="cells", values=numbers(40, 40), top=1.0, columns=tuple(f"{n}-{i}" for i in range(40))))
        for n in range(9)
    }
    found, sent = of(drawn, (0,))
    assert 1 < len(found.cases) < 9 and len(sent.header["lists"]) == len(found.cases)
    for (n,), case in sent.cases.items():
        assert sent.mark("cells", case)["names_of_columns"][39] == f"{n}-39"


def finer_and_coarser(count: int) -> dict[Case, Scene]:
    """Pictures of 40 × 40 cells, which may be drawn in 10 × 10 and then say so."""

    def made(n: int, side: int, **more: Any) -> Scene:
        return scene(Cells(id="cells", values=np.full((side, side), n + 0.25, "f4"), top=9.0), note=str(side), **more)

    return {(n,): made(n, 40, coarser=lambda n=n: made(n, 10)) for n in range(count)}


@pytest.mark.parametrize("budget", [10_000, 12_000, 15_000])
def test_the_far_come_in_fewer_cells_before_any_is_left_out(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", budget)
    drawn = finer_and_coarser(12)
    found, sent = of(drawn, (0,))
    assert found.cases == drawn.keys() and len(found.data) <= budget and not found.is_exact
    sides = [sent.mark("cells", sent.cases[(n,)])["values"].shape[0] for n in range(12)]
    n_full = sides.count(40)
    assert sides == [40] * n_full + [10] * (12 - n_full)
    assert n_full == {10_000: 1, 12_000: 2, 15_000: 4}[budget], "as many as there is room for"
    for (n,), case in sent.cases.items():
        np.testing.assert_allclose(sent.mark("cells", case)["values"], n + 0.25, rtol=0.005)
        assert sent.field("note", case) == str(sides[n]), "each says of itself how many cells it has"


def test_where_fewer_cells_are_too_many_the_farthest_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 9_000)
    drawn = finer_and_coarser(12)
    found, sent = of(drawn, (0,))
    assert 1 < len(found.cases) < 12 and found.cases == set(list(drawn)[: len(found.cases)])
    assert len(found.data) <= 9_000 and sent.mark("cells", 1)["values"].shape == (10, 10)


def test_what_has_room_comes_in_all_its_cells() -> None:
    drawn = finer_and_coarser(3)
    found, sent = of(drawn, (1,))
    assert found.is_exact and {sent.field("note", case) for case in range(3)} == {"40"}


def test_places_stay_exact_where_numbers_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 9_000)
    places = numbers(50)
    drawn: dict[Case, Scene] = {
        (n,): scene(
            Cells(id="cells", values=numbers(30, 30), top=1.0),
            Path(id="line", x=along(places, share=1), y=along(places * n, pixels=10)),
        )
        for n in range(4)
    }
    _, sent = of(drawn, (0,))
    assert {header["type"] for header in sent.header["arrays"]} == {"f4", "i1"}
    for (n,), case in sent.cases.items():
        np.testing.assert_allclose(sent.mark("line", case)["y"][:, 1], places * n * 10, rtol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_farthest_are_left_out_first(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Selections are given the nearest first; what is sent is a beginning of them, within the budget."""
    drawn = matrices(12)
    monkeypatch.setattr(module, "MOST_BYTES", int(share * sum(820 + 200 for _ in drawn)) + 4800)
    nearest = sorted(drawn, key=lambda case: abs(case[0] - 5))
    found, sent = of({case: drawn[case] for case in nearest}, (5,))
    assert len(found.data) <= module.MOST_BYTES
    assert 0 < len(found.cases) < 12 and found.cases == set(nearest[: len(found.cases)])
    assert sent.cases.keys() == found.cases


def test_the_present_selection_is_sent_whatever_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    drawn = matrices(3)
    found, sent = of(drawn, (1,))
    assert found.cases == {(1,)}
    np.testing.assert_array_equal(sent.mark("cells")["values"], drawn[(1,)].panels[0].marks[0].values.astype("f4"))  # type: ignore[union-attr]


def test_a_picture_without_a_number_in_it_can_be_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 700)
    blank: dict[Case, Scene] = {
        (n,): scene(Cells(id="cells", values=np.full((4, 4), -np.inf if n else 0.0), top=1.0)) for n in range(2)
    }
    _, sent = of(blank, (0,))
    for case in sent.cases.values():
        assert not np.isfinite(sent.mark("cells", case)["values"]).all() or case == 0
