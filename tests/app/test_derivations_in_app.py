"""Any number on a page, asked where it came from: by address, by a click, by its name, and back to where all begins."""

from collections.abc import Callable
from typing import Any

import pytest
from app_driver import offer, open_page
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, tiny_config

from viz_model import config as variants
from viz_model.app import derivation
from viz_model.app.cell_names import what, where, written
from viz_model.config import ModelConfig
from viz_model.drawing import theme
from viz_model.explain import gradients
from viz_model.model import sites
from viz_model.runs.derivation import Cell, derive
from viz_model.texts import LANGUAGES, Texts

TEXT = "a cat sat"
SIZES: dict[str, Any] = {"n_vocab": 8193, "n_layers": 1}
KINDS = {
    "decoder": tiny_config(**SIZES),
    "rotary": tiny_config(**SIZES, position=variants.Rope(), norm=variants.RMSNorm(), ffn=variants.Gated()),
    "encoder": tiny_config("post", **SIZES, kind="encoder", head=variants.MaskedHead()),
    "vectors": tiny_config("post", **SIZES, kind="encoder", head=variants.NoHead()),
    "both": tiny_config(**SIZES, kind="encoder_decoder", n_encoder_layers=1, start_id=1, position=variants.T5Bias()),
}
Opened = Callable[..., AppTest]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    def opened(config: ModelConfig, page: str = "attention", **query: str) -> AppTest:
        offer(monkeypatch, {"tiny": language_model(config)})
        return open_page(page, {"model": "tiny", "text": TEXT, "lang": "en", **query})

    return opened


def buttons(app: AppTest, start: str) -> list[Any]:
    return [button for button in app.button if (button.key or "").startswith(f"derivation.{start}")]


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in (*app.markdown, *app.caption, *app.success, *app.info, *app.warning))


def test_a_number_in_the_address_is_worked_out(opened: Opened) -> None:
    app = opened(KINDS["decoder"], cell="blocks.0.attn.scores:1,2,0")
    found = derive(language_model(KINDS["decoder"]).trace(TEXT), "blocks.0.attn.scores", (1, 2, 0))
    assert app.query_params["cell"] == "blocks.0.attn.scores:1,2,0"
    assert f"head 1, from `·sat` (2), to `a` (0): **{written(found.value)}**" in said(app)
    (end,) = app.success
    assert written(found.result, 5) in end.value and written(found.value, 5) in end.value
    color = theme.written("query", "light")[1:]
    assert any(rf"\textcolor{{{color}}}{{q^{{0,(1)}}_{{2," in part.value for part in app.latex)


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_way_back_ends_at_an_id_or_a_weight(kind: str, opened: Opened) -> None:
    """From the sidebar's number always through the first operand; the run agrees at every station."""
    app = opened(KINDS[kind])
    app.button(key="derivation.ask").click().run()
    seen: list[str] = []
    while "the way back ends here" not in said(app):
        asked = app.query_params["cell"]
        assert asked not in seen and len(seen) < 60
        seen.append(asked)
        assert app.success and not app.error and not app.exception, asked
        here = [button for button in buttons(app, "operand") if not button.disabled]
        here[0].click().run()
    assert len(seen) > 3 and not app.exception
    crumbs = buttons(app, "crumb")
    assert len(crumbs) == len(seen) + 1 and crumbs[-1].disabled


@pytest.mark.parametrize("kind", ["decoder", "rotary"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_gradient_is_worked_out_and_leads_on_to_the_loss(kind: str, lang: str, opened: Opened) -> None:
    app = opened(KINDS[kind], page="backward", cell="grad.1.5.blocks.0.attn.norm.out:0,3", lang=lang)
    trace = language_model(KINDS[kind]).trace(TEXT)
    assert f"**{written(float(gradients(trace, 1, 5).of('blocks.0.attn.norm.out')[0, 3]))}**" in said(app)
    assert any('gradients(trace, 1, 5).read("blocks.0.attn.norm.out")[0, 3]' in part.value for part in app.code)
    seen: list[str] = []
    while "logits" not in app.query_params["cell"]:
        seen.append(app.query_params["cell"])
        assert app.success and not app.error and not app.exception and len(seen) < 60, seen
        on = [one for one in buttons(app, "operand") if not one.disabled and r"\mathrm{d}" in one.label]
        on[0].click().run()
    assert len(seen) > 6 and not app.exception


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("blocks.9.attn.q:0,0,0", "blocks.9.attn.q"),
        ("blocks.0.attn.q:0,0,99", "expected one number from 0"),
        ("embedding.weight:0,999999", "it has the shape"),
        ("blocks.0:1", "blocks.0"),
        ("<b>:x", "`<b>:x`"),
    ],
)
def test_a_number_that_is_not_there_is_named(cell: str, why: str, opened: Opened) -> None:
    app = opened(KINDS["decoder"], cell=cell)
    assert any(why in warning.value for warning in app.warning)
    assert ("cell" in app.query_params) == ("<" not in cell)


def test_every_place_and_operand_has_words() -> None:
    for config in KINDS.values():
        lm = language_model(config)
        trace = lm.trace(TEXT, "cat") if len(config.sides) > 1 else lm.trace(TEXT)
        for name, site in sites.table(config).items():
            cell = Cell(name, (0,) * len(site.axes))
            found = derive(trace, name, cell.index)
            for language in LANGUAGES:
                t = Texts(language)
                assert where(trace, cell, t)
                for step in found.steps:
                    assert what(step, t)
                    shown = derivation.painted(step, trace, found.role)
                    assert "#" not in derivation.lines(shown) and "@" not in derivation.lines(shown)
            assert all(sites.find(c.site, config) for c in found.before)
