"""What is said of the layer, head and token that are selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias, assert_never

import streamlit as st

from viz_model.app.page import Page

Width: TypeAlias = Literal["stretch", "content"]


class Said(NamedTuple):
    """Markdown, and what it is: the title of a section, a text of it, a note in small letters, or a notice in a box."""

    words: str
    what: Literal["title", "text", "note", "notice"] = "text"


def title(words: str) -> Said:
    """The title of a section."""
    return Said(words, "title")


def note(words: str) -> Said:
    """Words in small letters."""
    return Said(words, "note")


def notice(words: str) -> Said:
    """Words in a box, of a run that was changed."""
    return Said(words, "notice")


def told(
    page: Page,
    tell: Callable[[Page], Iterable[Said | str]],
    key: str,
    *,
    width: Width = "stretch",
) -> None:
    """Say what there is to say of a page.

    Args:
        tell: what is said of the page that it is given, from above to below; a text as it is, and nothing of an empty
            one.
        key: a name for the place.
        width: of the place; as wide as what is said there, beside something else.
    """
    key = f"{page.text_key}.{key}.told"

    every = (one if isinstance(one, Said) else Said(one) for one in tell(page))
    with st.container(key=key, width=width):
        for one in every:
            if one.words:
                _draw(one, width)


def _draw(said: Said, width: Width) -> None:
    match said.what:
        case "title":
            st.subheader(said.words, anchor=False, width=width)
        case "text":
            st.markdown(said.words, width=width)
        case "note":
            st.caption(said.words, width=width)
        case "notice":
            st.info(said.words, icon=":material/science:")
        case _:
            assert_never(said.what)
