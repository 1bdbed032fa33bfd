"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

import streamlit as st

from viz_model.app.page import Stage, show
from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import ByteLevel
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures import tokens
from viz_model.topics.tokens.sections import tokens as parts


def draw(stage: Stage) -> None:
    trace, words, text = stage.trace, stage.words, cutting.written(stage.trace).text
    other = parts.beside(stage, text)
    facts = tokens.facts(trace, other, stage.token)

    picture, see = stage.split()
    with picture:
        st.markdown(f"**{words(f'finding_{facts.finding}', other=literal(other.name), **facts.said)}**")
        if facts.view:
            parts.draw(stage, facts.view, "cuts")
        elif facts.finding == "apart":
            parts.ribbons(stage, text, "cuts", other)
        stage.source("tokens.ids")
    with see:
        said = {name: literal(value) for name, value in facts.literals.items()}
        stage.see(**facts.said, **said, kind=words(f"about_{facts.kind}", **said))
        if facts.view:
            stage.see(f"other_{facts.other}", over=" ".join(literal(t.label) for t in facts.over), **facts.said, **said)

    if facts.finding != "ids":
        parts.counts(stage, text, other)
        parts.word(stage, text, other)
        parts.odd(stage, text, other)
        parts.known(stage, aligned=facts.keeps)
        parts.textbook(stage, text)

    def formula() -> None:
        stage.formula("tokens.ids")
        stage.see(f"rule_{facts.rule}", **facts.said)

    def hand() -> None:
        stage.see(f"hand_{facts.hand}", **facts.said, **said)
        if facts.hand in ("pairs", "single"):
            assert isinstance(trace.tokenizer, ByteLevel)
            built = tokens.MergesView.of(cutting.ranks(trace.tokenizer), trace.tokens[stage.token], stage.token)
            named = {"start": words("start"), "step": words("step", n="{n}", rank="{rank}")}
            stage.figure(tokens.draw_merges(built, named), "merges", words("merges_alt"))

    def code() -> None:
        stage.code(facts.snippet, text=text)

    def numbers() -> None:
        headings = [words(f"column_{name}") for name in ("position", "token", "id", "bytes")]
        for name, columns in tokens.tables(trace, other):
            st.markdown(f"**{literal(name)}**")
            stage.records(f"tokens.{name}", dict(zip(headings, columns, strict=True)))

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def run() -> None:
    """Open the page."""
    show("tokens", draw, without={"head"})
