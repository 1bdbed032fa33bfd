"""The page of a model without cross-attention: what it has instead, and where to find one that has it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import streamlit as st

from viz_model.app import elements, runs, state
from viz_model.app.elements import Guess, Said, title
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.measures import masks
from viz_model.measures.heads import STRONGEST, largest
from viz_model.texts.markdown import literal
from viz_model.topics.cross_attention import numbers as cross
from viz_model.topics.cross_attention.pictures.row import row_strip


def section(page: Page) -> None:
    config, model = page.lm.config, literal(page.view.model)
    st.info(page.t.prose(f"{page.text_key}.missing_{config.kind}", model=model), icon=":material/info:")
    picture, see = elements.split()
    site = page.at("attn.pattern")
    with picture:
        elements.told(page, _instead, "instead_title")
        labels, weight = page.token_labels, page.words("weight")
        elements.heat_rows(
            page, lambda page: row_strip(_row(page), labels, weight), "instead", page.words("instead_alt")
        )
        elements.source(page, site)
    with see:
        elements.see(page, "what")
    st.subheader(page.words("models_title"), anchor=False)
    others = [name for name, config in runs.configs().items() if cross.exists(config)]
    if others:
        with st.container(horizontal=True):
            for name in others:
                change = {"model": name, "side": "decoder", "token": None}
                st.button(name, key=f"{page.text_key}.model.{name}", on_click=state.update, kwargs=change)
    elements.see(page, "models_found" if others else "models_none")
    elements.see(page, "load")
    elements.code(page, "no_cross_attention")


def _row(page: Page) -> np.ndarray:
    """What the selected token reads of its own text, [T]."""
    return page.trace.head(page.at("attn.pattern"), page.view.head)[page.token].numpy()


def _instead(page: Page) -> Iterator[Said]:
    n_seen = int(masks.of_run(page.trace, page.view.layer)[page.token].sum())
    top = largest(_row(page), n_seen)
    names = {"token": page.token_name(), "strongest": page.token_name(top.at)}
    yield title(page.words("instead", reading=STRONGEST.label(page.t.language, top, **names)))


def question(page: Page) -> None:
    elements.question(page, "question_missing", "answer_missing", guess=_guess)


def _guess(page: Page) -> Guess | None:
    """Which token of its own text the chosen one reads most, over the heads of the layer."""
    trace, layer = page.trace, page.view.layer
    shares = trace[f"blocks.{layer}.attn.pattern"][:, page.token].mean(0)
    labels = [place.label for place in trace.positions]
    options = elements.of_tokens(page, labels, lambda n: float(shares[n]))
    counts = {"token": page.token_name(), "layer": layer, "n": page.lm.config.n_heads}
    return elements.largest(page, options, percent, "guess_missing", **counts)
