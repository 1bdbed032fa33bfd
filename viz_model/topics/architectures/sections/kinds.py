"""The three kinds of Transformer: who sees whom on this sentence, and what each is for."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.texts.markdown import literal
from viz_model.topics.architectures.numbers import architectures
from viz_model.topics.architectures.pictures import sight
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, both = pair.page, pair.both
    st.subheader(page.words("kinds_title"), anchor=False)
    runs_ = [one.trace for one in both if one.trace is not None]
    run = next((run for run in runs_ if len(run.config.sides) > 1), runs_[0])
    source = [token.label for token in run.at(run.config.sides[0]).tokens]
    target = [token.label for token in run.target_tokens] or source
    for column, kind in zip(st.columns(3, gap="large"), architectures.KINDS, strict=True):
        with column:
            here = [
                f"{'●■'[which]} {literal(one.lm.name)}" for which, one in enumerate(both) if one.lm.config.kind == kind
            ]
            st.markdown(f"#### {page.words(f'is_{kind}')}")
            st.caption(" · ".join(here) or page.words("not_chosen"))
            view = sight.SightView.of(kind, source, target)
            elements.figure(page, sight.draw_sight(view, page.words), kind, page.words(f"sight_{kind}_alt"))
            elements.see(page, f"for_{kind}")
    st.caption(page.words("sight_note" if run.target_tokens else "sight_note_same", n=sight.SIGHT_TOKENS))
