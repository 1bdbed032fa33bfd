"""Numbers worked out by hand: every term can be had, and all agrees with the drawer."""

from __future__ import annotations

import re

import pytest
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config

LINE = re.compile(r"&= (.*?) \\end\{aligned\}")


def test_a_sum_by_hand_can_be_opened_and_is_the_drawers(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, {"tiny": lm})
    query = {"model": "tiny", "lang": "en", "text": "the cat sat on the mat", "layer": "1", "head": "1"}
    app = open_page("attention", {**query, "tab": "hand"})
    said = "\n".join(part.value for part in app.markdown)
    product = next(toggle for toggle in app.toggle if toggle.label == f"Show all {lm.config.d_head} terms")
    site = re.search(r"blocks\.1\.attn\.scores\[([\d, ]+)\]", product.key or "")
    assert site
    product.set_value(True).run()
    assert not app.exception
    (terms,) = (frame.value for frame in app.dataframe if "=" in frame.value)
    assert len(terms) == lm.config.d_head
    factors = terms.iloc[:, -3:-1].prod(axis=1)
    assert factors.to_numpy() == pytest.approx(terms["="].to_numpy())

    drawer = open_page("attention", {**query, "cell": f"blocks.1.attn.scores:{site[1].replace(' ', '')}"})
    result = lines_end(next(part.value for part in drawer.latex if "aligned" in part.value))
    assert result in said and f"{terms['='].sum():.4g}" == result


def lines_end(latex: str) -> str:
    """The result of a step."""
    found = LINE.search(latex)
    assert found
    return found[1].rpartition("= ")[2]
