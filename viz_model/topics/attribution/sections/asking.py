"""Which token is asked about, and what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.choices import Choice
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.choices import AGAINST, LONGEST_TYPED, WORD
from viz_model.topics.attribution.numbers.attribution import Against
from viz_model.topics.attribution.numbers.typed import token_typed
from viz_model.topics.attribution.sections.question import Question, named_rivals, named_targets


def section(question: Question) -> None:
    if question.target is None:
        return
    left, right = st.columns(2)
    with left:
        _token(question, WORD, named_targets(question.best))
    with right:
        _token(question, AGAINST, named_rivals(question.best, question.target))


def _token(question: Question, choice: Choice[str], named: Mapping[str, Against]) -> None:
    """One of a few named choices, one of the best tokens, or any token that is typed."""
    page, tokenizer = question.page, question.trace.tokenizer
    written = page.chosen(choice)
    labels = {f"#{token.id}": f"{token.label}   {percent(p)}" for token, p in question.best}
    id = None if written in named or written in labels else token_typed(page.trace, written)
    is_typed = written not in named and written not in labels
    if id is not None and written.startswith("#"):  # chosen where it stood among the best
        labels[written] = tokenizer.token(id).label

    def label(option: str) -> str:
        if option in named:
            token = named[option]
            shown = tokenizer.token(token).label if isinstance(token, int) else ""
            return page.words(f"{choice.name}_{option}", token=shown)
        return labels.get(option, option)

    elements.control(
        page,
        choice,
        st.selectbox,
        [*named, *labels],
        read=lambda held: runs.readable(held[:LONGEST_TYPED])[0] or choice.default,
        format_func=label,
        accept_new_options=True,
    )
    if is_typed and id is None:
        st.caption(page.words("unknown", typed=literal(written)))
    elif is_typed and id is not None and written not in labels:
        st.caption(page.words("read_as", token=literal(tokenizer.token(id).label), id=id))
