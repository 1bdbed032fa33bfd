"""The address reproduces the view; whatever else it holds becomes a default and a notice."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import viz_model as vm
from viz_model.app import block_doors
from viz_model.app import view as views
from viz_model.app.choices import number
from viz_model.app.view import MAX_URL_TEXT, Notice, ViewState
from viz_model.checkpoints import registry
from viz_model.runs import edits
from viz_model.texts import LANGUAGES

MODELS = vm.models()
CONFIGS = {name: registry.config_of(name) for name in MODELS}
CHANGES = (
    edits.AblateHead(layer=1, head=3),
    edits.SetNeuron(layer=0, neuron=7, value=-2.5e-7),
    edits.PatchResidual(site="embed.out", position=0, from_text="我爱 ~._-<b>"),
    edits.NoScale(),
)


def parse(query: dict[str, str]) -> tuple[ViewState, list[Notice]]:
    return views.parse(query, MODELS, CONFIGS, "en")


@given(
    st.builds(
        ViewState,
        model=st.sampled_from([name for name in MODELS if CONFIGS[name].n_context > 127]),
        text=st.none() | st.text(max_size=MAX_URL_TEXT),
        also=st.none() | st.text(min_size=1, max_size=MAX_URL_TEXT),
        twin=st.booleans(),
        target=st.none() | st.text(max_size=MAX_URL_TEXT),
        to=st.none() | st.sampled_from(["fr", "zh"]),
        layer=st.none() | st.integers(0, 2),
        head=st.none() | st.integers(0, 5),
        token=st.none() | st.integers(0, 127),
        edits=st.lists(st.sampled_from(CHANGES), max_size=5).map(tuple),
        lang=st.sampled_from(list(LANGUAGES)),
    )
)
def test_the_address_reproduces_the_view(view: ViewState) -> None:
    if view.also is not None:  # which then stands in the twin's place
        view = replace(view, twin=False)
    assert parse(view.query()) == (view, [])


def test_each_wrong_value_is_named() -> None:
    asked = {"model": "gpt-9", "layer": "99", "head": "-1", "token": "x", "lang": "xx"}
    _, notices = parse(asked)
    keys = {f"common.unknown_{name}" for name in ("model", "layer", "head", "token", "language")}
    assert {notice.key for notice in notices} == keys


def test_a_number_is_in_the_address_as_it_is_read_there() -> None:
    sizes = number("n", 0.0, 0.0, 1e9)
    for value in (1_000_000.0, 123_456.78, 0.0, 0.1):
        assert sizes.read(sizes.write(value)) == value
        assert block_doors.VALUE.read(block_doors.VALUE.write(-value)) == -value
