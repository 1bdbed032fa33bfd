"""Who is compared, and the block of each with its norm where it stands."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.measures.passage import norm_name
from viz_model.texts.markdown import literal
from viz_model.topics.norm_placement.numbers import views
from viz_model.topics.norm_placement.pictures import blocks
from viz_model.topics.norm_placement.sections.comparison import Comparison

BLOCK = ("resid.in", "attn.out", "resid.mid", "cross.out", "resid.cross", "ffn.out", "resid.out")


def section(shown: Comparison) -> None:
    page = shown.page
    stations = {part: page.words(f"station_{part}") for part in ("norm", "attn", "cross", "ffn")}

    def drawn(page: Page) -> Sheet:
        return blocks.draw_blocks(_lengths(shown, page), stations, shown.own, is_presented=page.view.present)

    def draw() -> None:
        elements.figure(page, drawn, "blocks", page.words("blocks_alt"))

    if page.view.present:
        elements.told(page, _title, "title")
        draw()
        return
    _introduce(shown)
    elements.told(page, _title, "title")
    picture, see = elements.split()
    with picture:
        draw()
        elements.source(page, *shown.sites(*BLOCK))
    with see:
        elements.told(page, _tell, "see")
        elements.see(page, "see_how_alone" if shown.alone else "see_how")
        if not shown.alone:
            elements.see(page, "see_mark")


def _lengths(shown: Comparison, page: Page) -> dict[str, blocks.BlockView]:
    """By the place of the norm, of the block and the token that the page looks at."""
    place = page.view.layer, page.token
    return {name: views.block_view(trace, *place) for name, trace in shown.traces.items()}


def _title(page: Page) -> Iterator[Said]:
    shown = Comparison.of(page)
    lengths = {at: {"lengths": f"{view.entering:.1f} → {view.out:.1f}"} for at, view in _lengths(shown, page).items()}
    yield title(page.words("blocks_title", **shown.values, **shown.listed(lengths)))


def _tell(page: Page) -> Iterator[str]:
    shown = Comparison.of(page)
    yield page.prose("see", **shown.values)
    for name, view in _lengths(shown, page).items():
        yield page.prose(f"see_{name}", entering=f"{view.entering:.1f}", out=f"{view.out:.1f}")


def _introduce(shown: Comparison) -> None:
    """Who is compared, or why nobody is; with a way to the models that can be."""
    page = shown.page
    if not shown.alone:
        elements.see(page, "twins")
        return
    elements.see(page, f"alone_{shown.own}", model=literal(page.view.model), norm=norm_name(page.trace))
    paired = next((name for name in runs.names() if runs.model(name).twin in runs.names()), None)
    if paired is not None:
        st.button(
            page.words("see_twins"),
            key="norm_placement.see_twins",
            icon=":material/compare_arrows:",
            on_click=state.update,
            kwargs={"model": paired, "token": None},
        )
