"""The notebooks that a page offers: of one layer and of all, in the visitor's language."""

from __future__ import annotations

import json
from typing import Any

import pytest
import streamlit as st
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config

from viz_model.model import sites


def test_a_page_offers_the_run_of_one_layer_and_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, {"tiny": lm})
    offered: dict[str, Any] = {}
    monkeypatch.setattr(st, "download_button", lambda label, **told: offered.update({told["key"]: (label, told)}))
    query = {"model": "tiny", "lang": "zh", "text": "the cat", "layer": "1", "tab": "code"}
    open_page("attention", query)
    one, every = (offered[f"attention.{kind}"] for kind in ("notebook", "notebook_all"))
    assert "层 1" in one[0] and "所有层" in every[0]
    found = []
    for _, told in (one, every):
        first, install, start, *cells = json.loads(told["data"]())["cells"]
        assert "the cat" in "".join(first["source"]) and "第一个代码单元格" in "".join(first["source"])
        assert "%pip install" in "".join(install["source"]) and "vm.load('tiny')" in "".join(start["source"])
        found.append("".join(line for cell in cells for line in cell["source"]))
        assert "vm.plot.heads(trace, 1, lang='zh')" in found[-1]
    assert "`blocks.1.attn.q`" in found[0] and "`blocks.0.attn.q`" not in found[0]
    assert all(f"`{name}`" in found[1] for name in sites.table(lm.config))
