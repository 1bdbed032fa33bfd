"""Under a page's formulas stands what their symbols mean in this run, and nothing else."""

from __future__ import annotations

import pytest
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config


def test_symbols_of_the_formulas_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, {"tiny": lm})
    app = open_page("attention", {"model": "tiny", "lang": "en", "tab": "formula"})
    formulas, legend = "\n".join(part.value for part in app.markdown), app.markdown
    said = next(part.value for part in legend if part.value.startswith("- **Counting:**"))
    assert r"\sqrt{d_k}" in formulas
    assert f"($d_k$ = {lm.config.d_head})" in said and f"$h$ head ($H$ = {lm.config.n_heads})" in said
    assert "$W^Q$" in said and "$n$ normalized vector" in said
    assert "neuron" not in said and "$W^1$" not in said
    assert "blocks." not in said
