"""What is shown, for somebody else: its address, a frame for another page, a code for a phone's camera."""

import html
import io
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import urlencode

import segno
import streamlit as st

from viz_model.app import state
from viz_model.app.choices import words
from viz_model.app.view import ViewState
from viz_model.texts import Texts

HEIGHT = 760
"""Pixels of a frame of a page within another page."""
WIDTH, AROUND = 720, 150
"""How wide a frame of one picture is likely to be, and what stands above and below the picture in it."""


def address(view: ViewState, **more: str) -> str:
    """Of a view; ``more`` are parameters of the app and not of the view."""
    return joined(view.query() | more)


def joined(query: dict[str, str]) -> str:
    """The address of this page with another query."""
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(query)}"


def frame(address: str, title: str, height: int = HEIGHT) -> str:
    """HTML that shows an address within another page."""
    src, title = html.escape(address), html.escape(title)
    return f'<iframe src="{src}" title="{title}" width="100%" height="{height}" style="border: 0"></iframe>'


def code(address: str) -> bytes | None:
    """An address as a QR code, a PNG file; None where it is too long for one."""
    try:
        made = segno.make(address, error="l", micro=False)
    except segno.DataOverflowError:
        return None
    file = io.BytesIO()
    made.save(file, kind="png", scale=4, border=4)
    return file.getvalue()


@st.fragment(key=state.LINK)
def door(t: Texts) -> None:
    """To all ways to share what is shown."""
    view = state.now()
    state.write(view)
    if st.button(t("common.share"), width="stretch", icon=":material/link:", key="sidebar.share"):
        _ways(view, t)


def _ways(view: ViewState, t: Texts) -> None:
    @st.dialog(t("common.share"))
    def show() -> None:
        here = address(view)
        st.write(t("common.share_help"))
        st.code(here, language=None, wrap_lines=True)
        st.write(t("common.share_frame"))
        st.code(frame(address(view, embed="true"), t(f"common.page_{view.page}")), language="html", wrap_lines=True)
        if (picture := code(here)) is None:
            st.caption(t("common.share_long"))
        else:
            st.image(picture, width=220, alt=t("common.share_code"))
        st.button(
            t("common.present"),
            key="share.present",
            icon=":material/present_to_all:",
            help=t("common.present_help"),
            on_click=state.update,
            kwargs={"present": True},
        )

    show()


@st.fragment(key=state.LINK)
def whole(t: Texts) -> None:
    """From a page that stands alone to the whole app: from within another page in a window of its own."""
    view = state.now()
    state.write(view)
    if view.present:
        st.button(
            t("common.present_end"),
            key="frame_present",
            icon=":material/close_fullscreen:",
            type="tertiary",
            on_click=state.update,
            kwargs={"present": False},
        )
        return
    label = t("common.open_whole")
    st.link_button(label, address(without(view)), icon=":material/open_in_new:", type="tertiary", width="content")


PICTURE = words("picture", r"[a-z0-9_.]{1,80}")
"""The picture by its id; without one the whole page is shown."""


def without(view: ViewState) -> ViewState:
    """The view of the whole page."""
    chosen = {name: value for name, value in view.choices.items() if name != f"{view.page}.{PICTURE.name}"}
    return replace(view, choices=MappingProxyType(chosen))
