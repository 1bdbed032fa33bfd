"""Where nobody has chosen a layer or a head, the page shows a telling one, and the address stays open."""

import time
from typing import Any

import numpy as np
import pytest
from app_driver import ISLAND, mounts, offer, open_page, pictures
from streamlit.testing.v1 import AppTest
from tiny_models import language_model, tiny_config

from viz_model.app import default_selection, runs, state
from viz_model.app.view import ViewState
from viz_model.measures import salience

MODEL, CAT = "story-pre-ln", "The cat sat on the mat"
RUN = runs.RunKey(MODEL, CAT)


def reasons(app: AppTest) -> list[dict[str, Any]]:
    return [line for line in mounts(app)[ISLAND]["notes"] if "chosen by the app" in line["html"]]


def test_what_was_chosen_is_kept_and_the_rest_follows() -> None:
    def place(run: runs.RunKey = RUN, part: str = "attn", **chosen: Any) -> default_selection.Place:
        return default_selection.place(run, ViewState(model=MODEL, **chosen), "decoder", part)

    free = place()
    assert place(layer=2, head=5) == (2, 5) and place(layer=2).layer == 2
    assert place(head=5) == (free.layer, 5) and place(layer=free.layer) == free
    assert place(RUN._replace(edits=f"head-off.{free.layer}.{free.head}")) == free  # the eye is not moved
    assert place(part="cross") == free  # which the model lacks


def test_the_address_says_only_what_was_chosen() -> None:
    app, free = open_page("attention", {"model": MODEL, "text": CAT}), default_selection.place
    assert "layer" not in app.query_params and "head" not in app.query_params
    trace = runs.trace(RUN)
    tells = np.array([salience.of_layer(trace, layer) for layer in range(trace.n_layers)])
    layer, head = (int(n) for n in np.unravel_index(tells.argmax(), tells.shape))
    assert free(RUN, ViewState(model=MODEL), "decoder", "attn") == (layer, head)
    heads = pictures(app)["sidebar_heads"]
    assert heads.header["chooses"]  # under it stands what is said of the one that the bridge selects
    assert heads.mark(f"{layer}.{head}")["label"].startswith(f"Layer {layer} · head {head}:")
    usual = mounts(app)[ISLAND]["usual"]
    assert (usual["layer"], usual["head"]) == (layer, head)
    (why,) = reasons(app)
    assert why["unless"] == "head", "who has chosen one is not told"
    first, second = np.sort(tells.ravel())[:-3:-1]
    assert f"layer {layer}, head {head} " in why["html"] and f"({first:.2f}, first of {tells.size} " in why["html"]
    assert f"{second:.2f}" in why["help"]


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "other"), (2 * state.HEARD, "one")])
def test_what_a_widget_held_before_is_no_choice(seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the browser shows the other model, whatever else is pressed comes with the former one."""
    lm = language_model(tiny_config(n_vocab=8192, n_context=32))
    offer(monkeypatch, dict.fromkeys(("one", "other"), lm))
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
    assert (view.model, view.lang) == (shown, "zh") and app.selectbox(key="sidebar.model").value == shown
