"""Prose of a page, its pictures, and numbers worked out in prose: each with its calculation, done again by a click."""

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from viz_model.app import components, derivation, export_menu
from viz_model.app.cell_names import label_of, name_of, site_of, written
from viz_model.app.derivation import LARGEST, every_term, lines, painted
from viz_model.app.elements.formula import sized
from viz_model.app.page import Page
from viz_model.claims import Verdict
from viz_model.drawing.scene import Scene, encode, seen
from viz_model.explain import backward
from viz_model.island import message
from viz_model.island.page import Plot
from viz_model.island.tabs import Worked
from viz_model.texts.markdown import literal

V = TypeVar("V")


def split() -> tuple[Any, Any]:
    """Two thirds for a picture, one for what you see."""
    picture, see = st.columns([2, 1], gap="large")
    return picture, see


def see(page: Page, section: str = "see", /, **values: object) -> None:
    """What a picture shows, in this sentence's own tokens and numbers."""
    st.markdown(page.prose(section, **values))


def say(page: Page, verdict: Verdict[V], values: V, /, **filled: object) -> None:
    """What may be said of some values of this run; nothing where the verdict has no words for them."""
    if text := page.verdict(verdict, values, **filled):
        st.markdown(text)


def picture(page: Page, scene: Scene, *, own: bool = True) -> None:
    """Draw a scene, with the menu to save it; ``own`` is whether it is of the page's run."""
    drawn, menu = seen(scene, page.look.place), export_menu.ask(page.name, scene.id)
    data = encode(export_menu.offered(drawn, page))
    components.picture(data, key=scene.id, on_ask=derivation.picked, on_menu=menu)
    export_menu.answer(page, lambda: drawn, scene.id, own=own)


def plot(page: Page, made: Plot) -> None:
    """Draw a plot, with the menu to save it."""
    data = message.plot(made, page.t, "" if page.view.present else page.t("saving.menu"))
    components.picture(data, key=made.id, on_menu=export_menu.ask(page.name, made.id))
    export_menu.answer(page, lambda: made.scene, made.id, own=made.own)


def source(page: Page, *names: str) -> None:
    """Under a picture: which values it shows; their names in code and their shapes for who asks."""
    labels = [page.t.site_label(page.trace.site(name)) for name in names]
    code = [f"{literal(page.trace.full_name(name))} [{sized(page, name)}]" for name in names]
    st.caption(" · ".join(labels), help="\n\n".join(code))


def worked(page: Page, numbers: Sequence[Worked], /, **values: object) -> None:
    """The numbers in order, each redone in double precision as the drawer does it (:mod:`viz_model.app.derivation`).

    ``values`` fill the places of the prose. A number without prose is introduced by its name.
    """
    for n, number in enumerate(numbers, start=1):
        trace = page.trace if number.trace is None else number.trace
        found = backward.derivation(trace, number.site, number.at)
        prose = number.said or " ".join(page.t.prose(key, **values) for key in number.words)
        prose = prose or f"{label_of(site_of(trace, found.cell.site), page.t)} {name_of(found.cell)}"
        said = [f"**{n}.** {prose}"]
        for k, step in enumerate(found.steps):
            shown = painted(step, trace, found.role if step is found.steps[-1] else None)
            said.append(f"$$\n{lines(shown, factors=True)}\n$$")
            if shown.terms is not None and len(shown.terms) > LARGEST:
                st.markdown("\n\n".join(said))
                every_term(page.text_key, k, shown, found.cell, trace, page.t)
                said = []
        end = "end_wrong" if not found.agrees else "end_exact" if found.difference == 0 else "end"
        facts = {name: written(getattr(found, name), 5) for name in ("result", "value")}
        said.append(page.t(f"derivation.{end}", difference=written(found.difference, 1), **facts))
        st.markdown("\n\n".join(said))
