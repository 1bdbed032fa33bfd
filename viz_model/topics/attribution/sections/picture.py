"""Why this class: what each patch of the picture and each head is worth for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs, state
from viz_model.app.cache import cached
from viz_model.app.elements import Option, Worked
from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs
from viz_model.drawing.picture import Painted
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import signed
from viz_model.measures import patches
from viz_model.measures.classes import Classes, classes
from viz_model.runs import edits
from viz_model.topics.attribution.choices import CLASS
from viz_model.topics.attribution.numbers import picture
from viz_model.topics.attribution.pictures import picture as pictures


@cached()
def _patches(run: runs.RunKey) -> picture.Worth:
    return picture.without_patches(runs.trace(run), lambda levels: runs.run(run, picture=levels))


@cached()
def _heads(run: runs.RunKey, layers: tuple[int, ...]) -> np.ndarray:
    trace = runs.trace(run)

    def without(edit: edits.Edit) -> vm.Trace:
        return runs.run(run._replace(edits=edits.write((*trace.edits, edit))))

    return picture.without_heads(trace, layers, without)


@dataclass(frozen=True)
class Asked:
    """The class that is asked about, by its number; the most probable one where nobody has chosen."""

    page: Page
    view: Classes
    asked: int
    worth: picture.Worth

    @classmethod
    def of(cls, page: Page) -> Asked:
        view, chosen = classes(page.trace), page.chosen(CLASS)
        asked = view.top if chosen is None or chosen >= len(view.labels) else chosen
        return cls(page, view, asked, _patches(page.run_key))

    @property
    def facts(self) -> dict[str, object]:
        lost, names = self.worth.lost[:, self.asked], patches.names(self.page.trace, self.page.t)
        most, least = int(lost.argmax()), int(lost.argmin())
        return {
            "class": self.view.names[self.asked],
            "logit": signed(float(self.view.logits[self.asked])),
            "most": names[1 + most],
            "most_lost": signed(float(lost[most])),
            "least": names[1 + least],
            "least_lost": signed(float(lost[least])),
            "n": len(lost),
            "n_runs": self.worth.n_runs,
            "side": self.worth.side,
        }

    @property
    def offered(self) -> list[int]:
        """The classes that are offered, in their own order: all, or of many the most probable ones and the asked."""
        view = self.view
        shown = view.order[: pictures.MOST] if len(view.labels) > pictures.MOST else view.order
        return sorted({*shown, self.asked})


def section(given: Asked) -> None:
    page, view = given.page, given.view
    elements.control(
        page,
        CLASS,
        st.segmented_control,
        given.offered,
        value=given.asked,
        format_func=lambda n: view.labels[n],
        required=True,
        wrap=True,
    )
    st.subheader(page.words("class_title", **given.facts), anchor=False)

    def pick(asked: Any) -> None:
        state.update(**state.choose(page.name, (CLASS, int(asked))))

    picture, see = elements.split()
    with picture:
        elements.picture(page, _drawn, "patches", by=("token",), on_pick=pick)
    with see:
        elements.see(page, "see_patches" if given.worth.side == 1 else "see_squares", **given.facts)


def _drawn(page: Page) -> Scene:
    given = Asked.of(page)
    trace, lost = page.trace, given.worth.lost
    every = np.concatenate([np.full((1, lost.shape[1]), np.nan, np.float32), lost]).T
    names, grid = patches.names(trace, page.t), patches.grid(trace.config)
    view = Painted(patches.pixels(trace), every[given.asked], grid, names, chosen=page.token)
    title, said = page.words("patches_alt", **given.facts), page.words("for_class")
    return pictures.patches(view, every, given.view.labels, given.asked, "attribution.patches", title, said)


def heads(given: Asked) -> None:
    page = given.page

    layers = picture.layers_of(page.trace, page.view.layer)
    lost = _heads(page.run_key, layers)[:, :, given.asked]

    def drawn(page: Page) -> Scene:
        words = page.t("common.axis_layer"), page.t("common.axis_head")
        return pictures.heads(lost, layers, "attribution.heads", page.words("heads_alt", **given.facts), words)

    elements.picture(page, drawn, "heads", by=())
    row, head = np.unravel_index(int(lost.argmax()), lost.shape)
    facts = {"layer": layers[row], "head": head, "lost": signed(float(lost.max())), **given.facts}
    elements.see(page, "see_heads" if len(layers) == page.trace.n_layers else "see_heads_layer", **facts)


def formula(given: Asked) -> None:
    elements.formula(given.page, "class.logits")
    elements.see(given.page, "formula_without")


def hand(given: Asked) -> None:
    at = (given.asked,)
    elements.worked(given.page, [Worked(("attribution.hand_class",), "class.logits", at)], **given.facts)
    n = int(given.worth.lost[:, given.asked].argmax())
    lost, logit = given.worth.lost[n, given.asked], given.view.logits[given.asked]
    key = "hand_without" if given.worth.side == 1 else "hand_without_square"
    elements.see(
        given.page, key, logit_exact=f"{logit:.4f}", without=f"{logit - lost:.4f}", lost=f"{lost:.4f}",
        **given.facts,
    )  # fmt: skip


def code(given: Asked) -> None:
    elements.code(given.page, sites=("class.logits",))


def numbers(given: Asked) -> None:
    page = given.page
    names = patches.names(page.trace, page.t)[1:]
    elements.table(page, "lost", given.worth.lost, names, given.view.labels, "lost")


def question(given: Asked) -> None:
    lost = given.worth.lost[:, given.asked]
    names = patches.names(given.page.trace, given.page.t)[1:]
    picked = {*elements.spread(len(names), 4), int(lost.argmax())}
    options = {n: Option(names[n], float(lost[n]), names[n]) for n in sorted(picked)}
    guess = elements.largest(given.page, options, signed, "guess_patch", **{"class": given.facts["class"]})
    elements.question(given.page, guess=guess)


LAYOUT = Layout(
    of=Asked.of,
    sections=(section, Door("heads", (heads,))),
    tabs=Tabs(formula, hand, code, numbers),
    question=question,
)
