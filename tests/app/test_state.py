"""The address reproduces the view; whatever else it holds becomes a default and a notice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import viz_model as vm
from viz_model.app import state
from viz_model.checkpoints import registry
from viz_model.runs import edits
from viz_model.texts import LANGUAGES, Texts

MODELS = vm.models()
CONFIGS = {name: registry.config_of(name) for name in MODELS}


CHANGES = (
    edits.AblateHead(layer=1, head=3),
    edits.SetNeuron(layer=0, neuron=7, value=-2.5e-7),
    edits.PatchResidual(site="embed.out", position=0, from_text="我爱 ~._-<b>"),
    edits.NoScale(),
)


def parse(query: dict[str, str]) -> tuple[state.ViewState, list[state.Notice]]:
    return state.parse(query, MODELS, CONFIGS, "en")


@given(
    st.builds(
        state.ViewState,
        model=st.sampled_from([name for name in MODELS if CONFIGS[name].n_context > 127]),
        text=st.none() | st.text(max_size=state.MAX_URL_TEXT),
        also=st.none() | st.text(min_size=1, max_size=state.MAX_URL_TEXT),
        target=st.none() | st.text(max_size=state.MAX_URL_TEXT),
        to=st.none() | st.sampled_from(["fr", "zh"]),
        layer=st.none() | st.integers(0, 2),
        head=st.none() | st.integers(0, 5),
        token=st.none() | st.integers(0, 127),
        edits=st.lists(st.sampled_from(CHANGES), max_size=5).map(tuple),
        lang=st.sampled_from(list(LANGUAGES)),
    )
)
def test_the_address_reproduces_the_view(view: state.ViewState) -> None:
    assert parse(view.query()) == (view, [])


def test_an_empty_address_is_the_default_view_without_notices() -> None:
    view, notices = parse({})
    assert view == state.ViewState(model=MODELS[0]) and not notices


TEXTS = ("text", "also", "target")
ASKED: tuple[str, ...] = ("model", *TEXTS, "to", "side", "layer", "head", "token", "edits", "lang", "x")


@given(st.dictionaries(st.sampled_from(ASKED), st.text()))
def test_any_address_gives_a_view_that_exists(query: dict[str, str]) -> None:
    view, notices = parse(query)
    config = CONFIGS[view.model]
    assert view.lang in LANGUAGES
    assert view.layer is None or 0 <= view.layer < config.n_layers
    assert view.head is None or 0 <= view.head < config.n_heads
    for language in LANGUAGES:
        for notice in notices:
            assert Texts(language)(notice.key, **notice.values)


def test_each_wrong_value_is_named() -> None:
    asked = {"model": "gpt-9", "layer": "99", "head": "-1", "token": "x", "lang": "xx"}
    _, notices = parse(asked)
    keys = {f"common.unknown_{name}" for name in ("model", "layer", "head", "token", "language")}
    assert {notice.key for notice in notices} == keys


def test_text_beyond_the_limit_is_cut_in_the_address() -> None:
    view = state.ViewState(model=MODELS[0], text="a" * 10_000)
    assert len(view.query()["text"]) == state.MAX_URL_TEXT
