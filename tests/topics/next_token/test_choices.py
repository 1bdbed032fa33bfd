"""How tokens are drawn stands in the address of the page, under names that links have always had."""

from __future__ import annotations

import pytest

from viz_model.app import state
from viz_model.checkpoints import registry
from viz_model.topics.next_token import choices

MODEL = "story-pre-ln"
CONFIGS = {MODEL: registry.config_of(MODEL)}


def parse(query: dict[str, str]) -> tuple[state.ViewState, list[state.Notice]]:
    return state.parse(query, [MODEL], CONFIGS, "en", "next_token", choices.ALL)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("temperature", ("-1", "2.05", "nan", "1e0", "0.123", "")),
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
    assert not notices and view.chosen("next_token", choices.TEMPERATURE) == 0.0
    assert {name: view.query()[name] for name in chosen} == chosen
    assert parse(view.query())[0] == view
    assert not set(chosen) & parse({"temperature": "1", "top_p": "0.9", "seed": "0"})[0].query().keys()
