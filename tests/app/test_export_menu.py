"""The menu of a picture: what its files say, that its numbers are the run's, and that its Python makes them."""

import csv
import io
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
import torch
from app_driver import PAGES, open_page, tell
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.app import export_menu, python_lines
from viz_model.app.export_menu import Saved
from viz_model.app.frame import FIRST
from viz_model.app.page import Page
from viz_model.drawing.scene import Scene
from viz_model.drawing.scene.numbers import lines, numbers
from viz_model.runs.trace import Trace

pytestmark = pytest.mark.full
CHOSEN = {"model": "story-pre-ln", "text": "The cat sat", "layer": "1", "head": "3", "token": "1", "lang": "en"}
Menus = list[Saved]


@pytest.fixture
def menus(monkeypatch: pytest.MonkeyPatch) -> Menus:
    found: Menus = []
    show = export_menu._open

    def opened(saved: Saved, *more: Any) -> None:
        found.append(saved)
        show(saved, *more)

    monkeypatch.setattr(export_menu, "_open", opened)
    return found


def ran(code: str) -> tuple[list[np.ndarray], Scene | None]:
    """What lines of Python call ``numbers``, and the picture that they draw in the end, where they do."""
    lines, names = code.splitlines(), dict[str, Any]()
    drawing = lines.pop() if lines[-1].startswith("vm.plot.") else None
    with torch.no_grad():
        exec(compile("\n".join(lines), "code of a picture", "exec"), names)
        made = names.get("numbers", [])
        found = [one.numpy() for one in (made if isinstance(made, list) else [made])]
        return found, eval(drawing, names).scene if drawing else None


def values(scene: Scene | None) -> list[str]:
    assert scene is not None
    return [value for *_, value in lines(scene)]


def files(app: AppTest) -> list[str]:
    protos = [button.proto for button in app.get("download_button")]
    return [proto.label for proto in protos if "-saving." in proto.id]


def test_the_heads_of_a_layer_with_every_digit(menus: Menus) -> None:
    app = open_page("attention", CHOSEN)
    assert not files(app)
    tell(app, "attention.grid", "menu", {})
    (saved,) = menus
    run = vm.load("story-pre-ln").trace("The cat sat")
    pattern = run["blocks.1.attn.pattern"].numpy()
    caption, link = saved.caption.rsplit(" · ", 1)
    site = "attention pattern, blocks.1.attn.pattern [6 × 3 × 3]"
    assert caption == f"All heads of layer 1 · story-pre-ln · “The cat sat” · {site}"
    assert parse_qs(urlparse(link).query) == {name: [value] for name, value in CHOSEN.items()}
    rows = list(csv.reader(io.StringIO(numbers(saved.scene))))[1:]
    read = np.array([float(value or 0) for *_, value in rows], np.float32).reshape(pattern.shape)
    assert np.array_equal(read, pattern), "the very same numbers, a masked one empty"
    assert len(rows) == pattern.size
    heads = np.load(io.BytesIO(export_menu.all_heads(saved.run, saved.heads)))
    assert list(heads) == [f"blocks.{layer}.attn.pattern" for layer in range(4)] and saved.layer is None
    for name in heads:
        assert np.array_equal(heads[name], run[name].numpy())
    (made,), drawn = ran(saved.code)
    assert np.array_equal(made, pattern) and values(drawn) == values(saved.scene)
    shown = [part.value for part in app.code]
    assert saved.code in shown and saved.address in shown and saved.frame in shown
    assert "embed=true&amp;picture=attention.grid" in saved.frame and 'title="All heads of layer 1"' in saved.frame
    every = ["SVG", "PNG", "PDF", "HTML", "Numbers (CSV)", "All heads of all layers (NPZ)", "This page (HTML)"]
    assert files(app) == every and saved.name == "story-pre-ln-attention-grid-layer1-head3-token1"
    assert "menu" not in saved.scene.words, "a file has no menu"


@pytest.mark.parametrize("page", PAGES)
def test_every_line_of_a_page_runs_and_makes_what_is_shown(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[tuple[Saved, Trace]] = []

    def answer(page: Page, draw: Callable[[], Scene | None], key: str, **options: Any) -> None:
        scene = draw()
        assert scene is not None
        known = options.get("known", export_menu.Known)()
        met.append((export_menu.saved(page, scene, key, known, own=options.get("own", True)), page.trace.whole))

    monkeypatch.setattr(export_menu, "answer", answer)
    open_page(page, {"lang": "en", "text": "The cat sat"})
    assert met or page in ("training_lab", FIRST)  # nothing is drawn before somebody trains; the walk has no menus
    for saved, run in met:
        is_short = len(saved.scene.title) <= export_menu.MOST_TITLE
        assert saved.caption.startswith(saved.scene.title) == is_short and saved.name
        if not saved.code:
            continue
        listed, drawn = ran(saved.code)
        assert drawn is None or values(drawn) == values(saved.scene), saved.name
        made = {value for one in listed for value in one.ravel().tolist()}
        for one in python_lines.shown(saved.scene, run) if listed else ():
            first = one.where.at(0, 0)
            assert first is not None and float(run[first[0]][first[1]]) in made, saved.name
