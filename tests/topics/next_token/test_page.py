"""The page on what comes out, for every kind of model: which it shows, its code, and what its address says."""

from __future__ import annotations

import pytest
from app_driver import open_page, said
from streamlit.testing.v1 import AppTest

from viz_model.app import declared
from viz_model.app import view as views
from viz_model.app.measuring import MEASURING
from viz_model.app.view import Notice, ViewState
from viz_model.checkpoints import registry
from viz_model.measures import kv_cache
from viz_model.topics import next_token as topic

MODEL = "story-pre-ln"


def visit(**query: str) -> AppTest:
    return open_page("next_token", {"model": MODEL, "lang": "en", "door_times": "1", **query})


def test_both_ways_are_measured_on_demand_and_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_cache, "BUDGET", 1.0)
    app = visit(text="Tom had a cat")
    with MEASURING:
        app.button(key="kv_cache.measure").click().run()
        assert "Another measurement" in said(app) and "median of" not in said(app)
    app.button(key="kv_cache.measure").click().run()
    assert not app.exception
    assert "median of" in said(app) and not MEASURING.locked()
    full = visit(text="the cat " * 200)
    assert "tokens is full" in said(full) and not [one for one in full.button if one.key == "kv_cache.measure"]


# The address


def parse(query: dict[str, str]) -> tuple[ViewState, list[Notice]]:
    configs = {MODEL: registry.config_of(MODEL)}
    return views.parse(query, [MODEL], configs, "en", "next_token", declared.declared(topic.TOPIC).all_choices)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("temperature", ("-1", "2.05", "nan", "1e0", "0.123")),
        ("top_k", ("0", "101", "2.5", "٣", "off")),
        ("top_p", ("0", "1.01", "0.01")),
        ("seed", ("-1", "10000", "1_0")),
        ("drawn", ("-1", "101")),
        ("sentence_0", ("x" * 401,)),
    ],
)
def test_what_no_slider_can_be_set_to_stays_as_it_was_and_is_said(name: str, wrong: tuple[str, ...]) -> None:
    for asked in wrong:
        view, (notice,) = parse({name: asked})
        assert not view.choices
        assert notice.values["name"] == name and notice.values["asked"] == asked[:80]


def test_an_address_says_of_sampling_only_what_was_chosen() -> None:
    chosen = {"temperature": "0", "top_k": "7", "top_p": "1", "seed": "12", "drawn": "3", "sentence_1": ""}
    view, notices = parse({**chosen, "sentence_0": "a\nb"})
    assert not notices
    assert {name: view.query()[name] for name in chosen} == chosen
    assert parse(view.query())[0] == view
    assert not {"temperature", "top_p"} & parse({"temperature": "1", "top_p": "0.9"})[0].query().keys()
