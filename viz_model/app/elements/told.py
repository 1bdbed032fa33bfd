"""What is said of the layer, head and token that are looked at: it follows a click in the frame of the click."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

import streamlit as st

from viz_model.app import following
from viz_model.app.ahead import DIMENSIONS, Dimension
from viz_model.app.markdown_tree import tree
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
    by: Sequence[Dimension] = DIMENSIONS,
    width: Width = "stretch",
) -> None:
    """Say what there is to say of a page.

    Args:
        tell: what is said for the layer, head and token of the page that it is given, from above to below; a text as
            it is, and nothing of an empty one. It draws nothing, and is asked of other selections as well.
        key: a name for the place.
        by: those of them that make a difference to it.
        width: of the place; as wide as what is said there, beside something else.
    """
    key = f"{page.text_key}.{key}.told"

    def said(page: Page) -> list[Said]:
        every = (one if isinstance(one, Said) else Said(one) for one in tell(page))
        return [one for one in every if one.words]

    here = said(page)
    with st.container(key=key, width=width):
        for one in here:
            _draw(one, width)
        if not here:
            st.empty()  # or Streamlit leaves out the place, and the browser has none to write in
    dimensions = tuple(name for name in by if name not in page.without)
    following.keep(page, key, dimensions, _sent(here), lambda page: _sent(said(page)))


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


def _sent(said: Sequence[Said]) -> list[Any] | None:
    """As the browser writes it: each with what it is, and its tree."""
    trees = [[one.what, tree(one.words)] for one in said]
    return trees if all(made is not None for _, made in trees) else None
