"""What an address asks for and is not there is said on every page, of the model that the page shows."""

from __future__ import annotations

import pytest
from app_driver import PAGES, answer, offer, open_page
from tiny_models import language_model, tiny_config

from viz_model.app.frame import DESK, MODELS
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

ONE, OTHER = (
    tiny_config(n_vocab=8192, n_context=32),
    tiny_config(kind="encoder_decoder", start_id=0, n_vocab=8192, n_context=16, n_layers=1, n_heads=1),
)


@pytest.fixture(autouse=True)
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, {"own": language_model(ONE), "translator": language_model(OTHER)})


@pytest.mark.parametrize("page", [*PAGES, DESK, MODELS])
def test_every_page_says_what_is_not_there(page: str) -> None:
    app = open_page(page, {"lang": "en", "layer": "99", "head": "-1", "token": "9999"})
    config = OTHER if page == "cross_attention" else ONE
    last = {
        "layer": ("99", config.depth(config.sides[-1]) - 1),
        "head": ("-1", config.n_heads - 1),
        "token": ("9999", config.n_context - 1),
    }
    t = Texts("en")
    wanted = {
        t(f"common.unknown_{name}", asked=literal(asked), last=literal(str(n))) for name, (asked, n) in last.items()
    }
    assert wanted <= {warning.value for warning in app.warning}


def test_a_notice_goes_when_the_visitor_changes_something() -> None:
    app = open_page("cost", {"lang": "en", "layer": "99"})
    assert app.warning
    app = answer(app, text="a dog")
    assert not app.warning
