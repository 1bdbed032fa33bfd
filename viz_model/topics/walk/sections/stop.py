"""One stop: its words and its question beside the film, and the door to the page of its stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_model.app import describe, elements, frame, sidebar, state
from viz_model.app.page import Page
from viz_model.drawing.scene import Film
from viz_model.model.sites import n_neurons
from viz_model.texts.markdown import literal
from viz_model.topics.walk.choices import STOP, STOPS
from viz_model.topics.walk.numbers import views
from viz_model.topics.walk.sections import films, guesses

DOORS = {
    "look": "overview",
    "pieces": "tokens",
    "vectors": "embedding",
    "places": "position",
    "stream": "overview",
    "question": "attention",
    "shares": "attention",
    "taken": "attention",
    "heads": "attention",
    "source": "cross_attention",
    "alone": "block",
    "again": "attribution",
    "out": "next_token",
    "break": "ablations",
    "learnt": "training_lab",
}
"""The page of each stop's stage."""

GPT3 = 175e9
"""Parameters of GPT-3 as published (Brown et al. 2020, table 2.1)."""

LAST_DOORS = ("overview", "architectures", "ablations", "training_lab")


def section(page: Page) -> None:
    at = standing(page, films.stops(page))
    question = guesses.asked(page, at.stop)
    guess = None if question is None else guesses.picked(page, at.stop, question)
    beside, stage = columns()
    with beside:
        st.header(at.title, anchor=False)
        st.markdown(_told(page, at.stop))
        if at.stop == "again" and page.lm.twin and page.view.lesson is None:
            sidebar.norm_toggle(page.view, page.lm, page.t, "walk.norm_at", hidden=True)
        if question is not None:
            guesses.draw(page, at.stop, question)
    with stage:
        played = None if question and guess is None else str(guess)
        at.show(films.film(page, at.stop, at.passed, at.titles, played), DOORS, LAST_DOORS)


def columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Where the words of a stop stand, and its film."""
    beside, stage = st.columns([3, 7], gap="medium")
    return beside.container(key="walk_text", gap="small"), stage.container(key="walk_stage", gap="small")


class Standing(NamedTuple):
    """At which of the stops that a model has the visitor stands, and what all of them are called."""

    page: Page
    stop: str
    passed: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.titles[self.passed.index(self.stop)]

    def show(self, film: Film, doors: Mapping[str, str], last: Sequence[str]) -> None:
        """The film of the stop, and the ways to other pages, on the same token and head."""
        elements.film(self.page, film, "film", on_pick=self._go)
        is_end, page = self.stop == "end", self.page
        back = page.words("back_to", title=self.title)
        place = {"layer": page.view.layer, "head": page.view.head, "token": page.token}
        with st.container(horizontal=True, horizontal_alignment="left" if is_end else "distribute", key="walk_doors"):
            if not is_end:
                st.button(page.words("skip"), key="walk.skip", type="tertiary", on_click=frame.go, args=("overview",))
            for name in last if is_end else (doors[self.stop],):
                label = page.t(f"common.page_{name}")
                st.button(
                    label if is_end else page.words("closer", page=label),
                    key=f"walk.door.{name}",
                    type="secondary" if is_end else "tertiary",
                    icon=None if is_end else ":material/zoom_in:",
                    on_click=frame.go,
                    args=(name, (page.name, back)),
                    kwargs=place,
                )

    def _go(self, told: Any) -> None:
        """Another stop, as the browser asks for it."""
        wanted = told.get("stop") if isinstance(told, dict) else None
        if isinstance(wanted, int) and 0 <= wanted < len(self.passed):
            state.update(**state.choose(self.page.name, (STOP, self.passed[wanted])))


def standing(page: Page, passed: tuple[str, ...]) -> Standing:
    """At the stop that is asked for, or where a model has none such, at the one before it."""
    asked = STOPS.index(page.chosen(STOP) or STOPS[0])
    stop = next(name for name in reversed(STOPS[: asked + 1]) if name in passed)
    return Standing(page, stop, passed, tuple(page.words(f"stop_{name}") for name in passed))


def _told(page: Page, stop: str) -> str:
    """The sentences of a stop, of this kind of model."""
    trace, config = page.trace, page.lm.config
    kind = {
        "look": config.kind if config.has_logits else "vectors",
        "places": views.scheme(trace, page.view.layer)[0],
        "shares": ("masked" if films.head_of(page).has_mask else "open") + ("" if config.divides_by_root else "_whole"),
        "alone": trace.norm_at,
        "again": trace.norm_at,
        "out": "vectors" if not views.guesses(trace, page.token, 1) else config.kind,
    }.get(stop)
    values: dict[str, Any] = {"token": page.token_name(), "layer": page.view.layer, "head": page.view.head}
    values |= {"n_heads": config.n_heads, "n_layers": trace.n_layers, "d": config.d_model}
    values["rows"] = f"{config.n_vocab:,}"
    values |= {"n": len(trace), "model": literal(page.view.model)}
    if stop == "again":
        values["parts"] = page.words(f"one_after_another{'_three' if 'source' in films.stops(page) else ''}")
    if stop == "alone":
        does = views.norm_does(trace, page.token, page.view.layer)
        values["norm"] = page.words(f"norm_{trace.norm_at}_{does}")
        has = "" if n_neurons(config, trace.stack.side, page.view.layer) else "_none"
        values |= {name: page.words(f"alone_{name}{has}") for name in ("network", "written")}
    if stop == "look":
        values["times"] = _rounded(GPT3 / sum(weight.numel() for weight in page.lm.model.parameters()))
        values["card"] = describe.model(page.view.model, page.lm, page.t)
    return page.t.prose(f"{page.text_key}.{stop}" if kind is None else f"{page.text_key}.{stop}_{kind}", **values)


def _rounded(n: float) -> str:
    """A number to two digits."""
    return f"{float(f'{n:.2g}'):,g}"
