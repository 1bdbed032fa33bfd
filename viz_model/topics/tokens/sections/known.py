"""Two examples of tutorials, counted."""

from __future__ import annotations

import streamlit as st

from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import cl100k_base
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.cuts import CutsView
from viz_model.topics.tokens.sections.beside import Beside
from viz_model.topics.tokens.sections.cuts import draw, ribbons


def section(beside: Beside) -> None:
    page, tokenizer, cl100k = beside.page, beside.own, cl100k_base()
    st.subheader(page.words("known"), anchor=False)
    for key, example in (("chinese", cutting.CHINESE), ("tutorial", cutting.TUTORIAL)):
        theirs = cl100k.tokens(cl100k.encode(example))
        told = page.words(f"known_{key}", text=literal(example), n=len(theirs), broken=cutting.broken(theirs))
        st.markdown(told)
        if beside.facts.keeps:
            ours = tokenizer.tokens(tokenizer.encode(example, special=False))
            draw(page, CutsView.of(ours, theirs, (tokenizer.name, cl100k.name)), key)
        else:
            ribbons(page, example, key, cl100k)
        st.caption(f"{literal(cl100k.name)}: {literal(' '.join(str(token.id) for token in theirs))}")
