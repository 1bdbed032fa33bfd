"""Driving the app without a browser: open a page on models of a test's own, and read what it shows."""

from __future__ import annotations

import contextlib
import io
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.ui import runs

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = 32
"""Lines of code that a page shows at the most."""


def open_page(page: str, query: Mapping[str, str]) -> AppTest:
    """A page of the app at an address, without an exception on it."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception, app.exception[0].message
    return app


def offer(monkeypatch: pytest.MonkeyPatch, models: Mapping[str, vm.LanguageModel]) -> None:
    """Make the app offer these models and no others, with nothing kept of what it ran before."""
    monkeypatch.setattr(runs, "configs", lambda: {name: lm.config for name, lm in models.items()})
    monkeypatch.setattr(vm, "load", models.__getitem__)
    st.cache_resource.clear()


def run_code(app: AppTest) -> list[str]:
    """Run the only code that a page shows; the words that it prints."""
    (code,) = [block.value for block in app.code if "import viz_model" in block.value]
    assert len(code.splitlines()) <= MOST_LINES
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), torch.no_grad():
        exec(compile(code, "code of the page", "exec"), {})
    return printed.getvalue().split()


def figures(app: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of a page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def frames(app: AppTest) -> dict[str, tuple[dict[str, Any], np.ndarray]]:
    """Framed component data by component name: (header, float32 numbers)."""
    found = {}
    for part in app.get("bidi_component"):
        if raw := part.proto.bytes:
            length = struct.unpack("<I", raw[:4])[0]
            name = part.proto.component_name.rpartition(".")[2]
            found[name] = (json.loads(raw[4 : 4 + length]), np.frombuffer(raw[4 + length :], "<f4"))
    return found
