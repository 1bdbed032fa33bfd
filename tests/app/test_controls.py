"""Widgets of choices: what the browser hands back is taken only where it is on offer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from app_driver import offer, open_page
from tiny_models import language_model, tiny_config

from viz_model.app import state
from viz_model.app.elements.controls import _is_on_offer


@pytest.mark.parametrize(
    ("held", "values", "taken"),
    [
        ("layer.3.ffn", (["layer.3.ffn", "layer.2.ffn"],), True),
        ("layer 3 feed-forward +5.77", (["layer.3.ffn", "layer.2.ffn"],), False),  # the label of another run
        (["a", "b"], (("a", "b", "c"),), True),
        (["a", "of another run"], (("a", "b", "c"),), False),
        (0.35, (0.0, 1.0), True),
        ("any text", ("a default",), True),
        (True, (), True),
    ],
)
def test_only_what_is_on_offer_is_chosen(held: object, values: tuple[object, ...], taken: bool) -> None:
    assert _is_on_offer(held, values) == taken


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "other"), (2 * state.HEARD, "one")])
def test_what_a_widget_held_before_it_was_written_is_no_choice(
    seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the browser shows the other model, whatever else is pressed comes with the former one."""
    config: dict[str, Any] = {"n_vocab": 8192, "n_context": 32}
    offer(monkeypatch, {name: language_model(tiny_config(**config)) for name in ("one", "other")})
    app = open_page("overview", {"model": "one", "lang": "en", "text": "the cat"})
    clock = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    app.query_params["model"] = "other"  # by a link or by the switch of the norm: not by the box itself
    app.run()
    assert app.selectbox(key="sidebar.model").value == "other"
    clock += seconds
    app.selectbox(key="sidebar.model").set_value("one")
    app.segmented_control(key="sidebar.lang").set_value("zh").run()
    view = app.session_state["view"]
    assert (view.model, view.lang) == (shown, "zh")
    assert app.selectbox(key="sidebar.model").value == shown
