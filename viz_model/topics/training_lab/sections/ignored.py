"""Behind a door: targets that take no part in the loss, on the sentence of the page."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.texts.markdown import literal, table
from viz_model.topics.training_lab.choices import IGNORED
from viz_model.topics.training_lab.claims import EQUAL, LEFT_OUT
from viz_model.topics.training_lab.numbers.ignored import Ignored


def section(page: Page) -> None:
    elements.see(page, "ignored")
    loss = Ignored.of(page.trace, page.chosen(IGNORED))
    if loss is None:
        elements.see(page, "ignored_none")
        return
    most = len(loss.targets) - 1
    if most:
        elements.control(page, IGNORED, st.slider, 0, most, value=loss.n_ignored)
    tokens = page.trace.tokens
    lines = []
    for n, (target, nats) in enumerate(zip(loss.targets, loss.nats, strict=True)):
        asked = n >= loss.n_ignored
        target_name = f"{literal(tokens[n + 1].label)} {target}"
        cells = (target_name, f"{nats:.4f}") if asked else ("**−100**", f"({nats:.4f})")
        lines.append((literal(tokens[n].label), *cells))
    st.markdown(table((page.words(f"ignored_{name}") for name in ("read", "target", "loss")), lines, "lrr"))
    named = {name: f"{getattr(loss, name):.4f}" for name in ("computed", "of_rest", "of_all")}
    elements.say(page, EQUAL, loss, **named, n=len(loss.targets) - loss.n_ignored)
    if loss.n_ignored:
        elements.say(page, LEFT_OUT, loss, **named)
