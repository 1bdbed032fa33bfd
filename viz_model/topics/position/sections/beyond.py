"""Longer than the training: the loss at every position up to four contexts, of one model a scheme, on demand."""

from __future__ import annotations

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.checkpoints.registry import BUNDLED
from viz_model.config import Position
from viz_model.texts.markdown import literal
from viz_model.topics.position import choices
from viz_model.topics.position.claims import BEYOND, EQUAL, Beyond
from viz_model.topics.position.numbers import beyond
from viz_model.topics.position.pictures.beyond import draw_losses
from viz_model.topics.position.sections import schemes
from viz_model.topics.position.sections.schemes import Shown


@cached()
def _losses(model: str, text: str) -> beyond.Losses:
    return beyond.losses(runs.model(model), text)


def section(given: Shown) -> None:
    """Nothing is read before it is asked for: a few seconds a model."""
    page = given.page
    st.subheader(page.words("beyond_title"), anchor=False)
    lms = list(_one_a_scheme(page).values())
    named = page.listed(literal(lm.name) for lm in lms)
    elements.see(page, "beyond_lead", times=beyond.TIMES, models=named)
    if not elements.control(page, choices.BEYOND, st.toggle):
        return
    story = beyond.STORY.read_text(encoding="utf-8")
    label, help = page.words("beyond_text"), page.words("beyond_text_help")
    text = st.text_area(label, story, 120, runs.MAX_CHARACTERS, "position.beyond_text", help)
    try:
        with st.spinner(page.words("beyond_wait")):
            found = {lm.name: _losses(lm.name, text) for lm in lms}
    except ValueError:
        st.info(page.words("beyond_short", context=max(lm.config.n_context for lm in lms)))
        return
    labels = {lm.name: f"{lm.name} · {schemes.name(page, lm.config.position)}" for lm in lms}
    drawn = ("position", "loss", "long", "pieces", "context")
    picture, see = elements.split()
    with picture:
        figure = draw_losses(found, labels, {name: page.words(f"beyond_{name}") for name in drawn})
        elements.figure(page, figure, "losses", page.words("beyond_alt"), own=False)
        st.caption(page.words("beyond_note"))
    with see:
        for lm in lms:
            loss = Beyond(*found[lm.name].beyond)
            facts = {"within": f"{loss.within:.2f}", "beyond": f"{loss.beyond:.2f}", "equal": EQUAL}
            scheme = schemes.name(page, lm.config.position)
            elements.say(page, BEYOND, loss, **facts, model=literal(lm.name), scheme=scheme)


def _one_a_scheme(page: Page) -> dict[Position, vm.LanguageModel]:
    """The page's model and the bundled decoders, one for each scheme, of those that can read on."""
    names = dict.fromkeys((page.view.model, *(name for name in runs.names() if (BUNDLED / name).is_dir())))
    found: dict[Position, vm.LanguageModel] = {}
    for name, config in ((name, runs.offered()[name]) for name in names):
        if config.kind == "decoder" and config.position not in found and beyond.reads(runs.model(name)):
            found[config.position] = runs.model(name)
    return found
