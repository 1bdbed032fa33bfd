"""One picture alone with its sentence, within a page of somebody else's: ``?embed=true&picture=attention.grid``.

The page is drawn as it is, so that the picture answers as it does there; what else stands on it is not shown.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from viz_model.app.choices import words
from viz_model.app.page import Page
from viz_model.app.view import ViewState
from viz_model.texts.markdown import literal

PICTURE = words("picture", r"[a-z0-9_.]{1,80}")
"""The key of the picture; without one the whole page is shown."""

_MET = "alone.met"

_HEAD, _PICTURE = ".st-key-frame_head", ".st-key-{key}"
# With something beside it, or Streamlit takes it out of its place, where it would stay when that is emptied.
_STYLE = """<i hidden></i><style>
[data-testid="stMainBlockContainer"] {{
  :is([data-testid="stElementContainer"], [data-testid="stLayoutWrapper"], [data-testid="stColumn"]):not({kept}) {{
    display: none;
  }}
  [data-testid="stColumn"]:has({picture}) {{ flex: 1 1 100%; }}
  [data-testid="stExpander"]:has({picture}) {{ summary {{ display: none; }} details {{ border: 0; }} }}
}}
</style>"""


def asked(page: Page) -> str:
    """The key of the picture that is asked for; "" where it is the whole page, as it is outside of a frame."""
    return page.chosen(PICTURE) if st.context.is_embedded else ""


def begin(page: Page) -> Any:
    """Before the page is drawn: hide all but the picture. What is returned is for :func:`end`."""
    place = st.empty()
    st.session_state[_MET] = False
    if key := asked(page):
        picture = _PICTURE.format(key=re.sub(r"[^a-z0-9_]", "-", key))
        kept = (picture, f":has({picture})", _HEAD, f":has({_HEAD})", f"{_HEAD} *")
        place.html(_STYLE.format(kept=", ".join(kept), picture=picture))
    return place


def meet(page: Page, key: str) -> None:
    """A picture is drawn."""
    if key == asked(page):
        st.session_state[_MET] = True


def end(page: Page, place: Any) -> None:
    """After the page is drawn: show all of it where that picture is not on it."""
    if (key := asked(page)) and not st.session_state[_MET]:
        place.warning(page.t("common.unknown_beside", name=PICTURE.name, asked=literal(key)))


def without(view: ViewState) -> ViewState:
    """The view of the whole page."""
    chosen = {name: value for name, value in view.choices.items() if name != f"{view.page}.{PICTURE.name}"}
    return replace(view, choices=MappingProxyType(chosen))
