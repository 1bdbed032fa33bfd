"""The page on what comes out, for every kind of model: which it shows, its code, and what its address says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from app_driver import offer, open_page, said
from streamlit.testing.v1 import AppTest
from tiny_models import describe, few, random_model, tiny_config, variants

import viz_model as vm
from viz_model.app import declared
from viz_model.app import view as views
from viz_model.app.measuring import MEASURING
from viz_model.app.view import Notice, ViewState
from viz_model.checkpoints import registry
from viz_model.config import LanguageHead, ModelConfig
from viz_model.measures import kv_cache
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics import next_token as topic

MASK, TEXT, TARGET = 100, "3 1 41 59 26", "5 35 8"
MODEL = "story-pre-ln"
KINDS = [*few(), next(c for c in variants() if c.kind == "encoder" and isinstance(c.head, LanguageHead))]

Visit = Callable[..., AppTest]


class Ids(IdTokenizer):
    """A vocabulary of numbers with an end and a mask."""

    end_of_text = 2
    mask_id: int | None = MASK


def ids_model(config: ModelConfig, mask_id: int | None = MASK) -> vm.LanguageModel:
    tokenizer = Ids(config.n_vocab)
    tokenizer.mask_id = mask_id
    name = f"{describe(config)}-{hash(config)}-{mask_id}"  # runs are cached by name
    return vm.LanguageModel(
        name=name, model=random_model(config), tokenizer=tokenizer, twin=None, folder=Path("nowhere")
    )


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Visit:
    """Open the page on a model of the test's own."""

    def visit(lm: vm.LanguageModel, **query: str) -> AppTest:
        offer(monkeypatch, {"own": lm})
        if lm.config.kind == "encoder_decoder":
            query.setdefault("target", TARGET)
        return open_page("next_token", {"model": "own", "text": TEXT, "lang": "en", **query})

    return visit


def test_both_ways_are_measured_on_demand_and_one_at_a_time(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kv_cache, "BUDGET", 1.0)
    app = visit(ids_model(tiny_config(n_context=32)), door_times="1")
    with MEASURING:
        app.button(key="kv_cache.measure").click().run()
        assert "Another measurement" in said(app) and "median of" not in said(app)
    app.button(key="kv_cache.measure").click().run()
    assert not app.exception
    assert "median of" in said(app) and not MEASURING.locked()
    full = visit(ids_model(tiny_config()), text=" ".join(["7"] * 40), door_times="1")
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
