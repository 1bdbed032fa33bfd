"""The layer, head and token that are looked at: chosen in the browser, where all pictures follow, and known here.

The browser tells what it selected once a visitor rests. The server says nothing back, or a quick second click
would be undone by the answer to the first; only what changed elsewhere (an address, another sentence, a widget)
is told to the browser, once, under a name that is new.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial

import streamlit as st

from viz_model.app import ahead, components, state
from viz_model.app.page import Page

KEY, RESTS = "frame_selection", "frame_rest"
MOST = 100_000
"""Beyond this no layer, head or token is worth reading; what the run has is for the page to say."""

_KNOWN, _TOLD, _READ = "selection.known", "selection.told", "selection.read"


def bridge(page: Page, usual: Mapping[str, int], within: str) -> None:
    """Keep the browser's selection and the view the same; once a page, after its pictures.

    Args:
        usual: the layer, head and token of an address that names none.
        within: the part of the page in which this stands.
    """
    now = _now(page)
    known: dict[str, int] = st.session_state.get(_KNOWN, {})
    changed = {name: n for name, n in now.items() if known.get(name) != n}
    if changed:
        st.session_state.update({_KNOWN: now, _TOLD: {"nav": uuid.uuid4().hex, **changed}})
    header = {
        **st.session_state[_TOLD],
        "seq": st.session_state.get(_READ, 0),
        "initial": dict(usual),
        "language": page.t.language,
        "sizes": {"layer": page.trace.n_layers, "head": page.lm.config.n_heads} if page.view.present else None,
    }
    components.bridge(header, key=KEY, on_select=partial(_selected, within))


def rest(page: Page) -> None:
    """Have the browser tell when the visitor rests, where pictures lack neighbours; after all of them."""
    seen = [n for name, n in _now(page).items() if name not in page.without]
    components.rest(ahead.end(), [*page.run_key, page.name, *seen], key=RESTS, on_rest=_rested)


def _now(page: Page) -> dict[str, int]:
    return {"layer": page.view.layer, "head": page.view.head, "token": page.token}


def _selected(within: str, told: object) -> None:
    """What the browser selected becomes the view's; what is no selection is left alone."""
    if not isinstance(told, Mapping):
        return
    changes = {name: told[name] for name in ahead.DIMENSIONS if _is_index(told.get(name))}
    st.session_state[_KNOWN] = {**st.session_state.get(_KNOWN, {}), **changes}
    if _is_index(told.get("seq")):
        st.session_state[_READ] = told["seq"]
    state.update(within=within, **changes)


def _rested(_: object) -> None:
    """The visitor rests: there is time to draw what the next click leads to."""
    ahead.ask()
    state.run_alone(state.BODY)


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST
