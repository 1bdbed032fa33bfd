"""Parts of the page that Streamlit has no element for: pictures, chips of tokens, a mask to draw in.

All are drawn by one module in the browser (``frontend/src``), which writes text as ``textContent`` only, and tell
which thing was clicked.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import streamlit as st

from viz_model.drawing.scene import Arrays, framed, with_bytes


@functools.cache
def _module() -> Callable[..., Any]:
    """The one module of ``frontend/src``: mounted for every picture, for the chips, and for what is not seen.

    Registered when it is first drawn: Streamlit knows where the package's files are only while it runs.
    """
    return st.components.v2.component(
        "viz-model.pictures", js="app.js", css="viz.css", html='<div class="viz" style="visibility: hidden"></div>\n'
    )


def _callback(key: str, on_pick: Callable[[Any], object], trigger: str = "picked") -> Callable[[], None]:
    def changed() -> None:
        told = st.session_state.get(key)  # None: of a page that was left
        picked = getattr(told, trigger, None)
        if picked is not None:
            on_pick(picked)

    return changed


Ask: TypeAlias = Callable[[dict[str, Any]], None]
"""What is done when the ``site`` and ``index`` of a cell are asked about."""


def picture(
    scene: bytes, *, key: str, on_ask: Ask | None = None, on_menu: Callable[[Any], object] | None = None
) -> None:
    """A scene (:func:`viz_model.drawing.scene.encode`).

    ``on_ask`` is called with the ``site`` and ``index`` of a cell, ``on_menu`` where its menu is asked for.
    """
    heard: dict[str, Any] = {}
    if on_ask is not None:
        heard["on_asked_change"] = _callback(key, on_ask, "asked")
    if on_menu is not None:
        heard["on_menu_change"] = _callback(key, on_menu, "menu")
    _module()(key=key, data=scene, **heard)


def island(data: bytes, *, key: str, **heard: Callable[[], None]) -> None:
    """A whole page (:mod:`viz_model.island.message`); ``heard`` are callbacks of what it tells, ``on_…_change``."""
    _module()(key=key, data=data, **heard)


def heads(own: dict[str, Any], arrays: Arrays, *, key: str) -> None:
    """The maps of all heads, which the page's message has; or as they are here, with their numbers."""
    _module()(key=key, data=framed({"kind": "heads", **own}, arrays))


def pen(answer: dict[str, Any], *, key: str) -> None:
    """What is written on a page, which asks for it as ``asked``; nothing is seen in its place."""
    _module()(key=key, data=framed({"kind": "pen", **answer}), on_asked_change=lambda: None)


def skip(label: str, *, key: str) -> None:
    """A link past what stands on every page, for who comes by keyboard.

    Nothing is seen in its place: it stands at the beginning of the document, and shows when it has the focus.
    """
    _module()(key=key, data=framed({"kind": "skip", "label": label}))


def search(data: dict[str, Any], *, key: str, on_pick: Callable[[object], None]) -> None:
    """A button that opens the search, on a page that is not one component; ``on_pick`` is told what is chosen."""
    heard = _callback(key, lambda told: on_pick(told["value"]))
    _module()(key=key, data=framed({"kind": "search", **data}), on_picked_change=heard)


def mask(
    data: dict[str, Any], *, key: str, on_pick: Callable[[list[list[int]]], None], on_menu: Callable[[Any], object]
) -> None:
    """A mask to draw in; ``picked`` holds the cells [query, key] that a stroke turned over."""
    heard = {"on_picked_change": _callback(key, on_pick), "on_menu_change": _callback(key, on_menu, "menu")}
    _module()(key=key, data=framed({"kind": "mask", **data}), **heard)


def sketch(
    data: dict[str, Any], pictures: Sequence[np.ndarray], *, key: str, on_drawn: Callable[[object], None]
) -> None:
    """A field to draw a picture in.

    ``pictures`` are uint8: what is drawn [H, W], what the model reads of it [H, W], and examples [N, H, W].
    ``on_drawn`` is told the ``pixels``, in base64, and the ``seq`` of the message, while somebody draws.
    """
    _module()(
        key=key,
        data=with_bytes({"kind": "sketch", **data}, pictures),
        on_drawn_change=_callback(key, on_drawn, "drawn"),
    )
