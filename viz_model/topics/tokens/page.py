"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

import streamlit as st

from viz_model.app.stage import Stage, show
from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import ByteLevel
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.sections import tokens as parts


def draw(stage: Stage) -> None:
    trace, words, text = stage.trace, stage.words, cutting.written(stage.trace).text
    other = parts.beside(stage, text)
    found = facts.facts(trace, other, stage.token)

    picture, see = stage.split()
    with picture:
        st.markdown(f"**{words(f'finding_{found.finding}', other=literal(other.name), **found.said)}**")
        if found.view:
            parts.draw(stage, found.view, "cuts")
        elif found.finding == "apart":
            parts.ribbons(stage, text, "cuts", other)
        stage.source("tokens.ids")
    with see:
        said = {name: literal(value) for name, value in found.literals.items()}
        stage.see(**found.said, **said, kind=words(f"about_{found.kind}", **said))
        if found.view:
            stage.see(f"other_{found.other}", over=" ".join(literal(t.label) for t in found.over), **found.said, **said)

    if found.finding != "ids":
        parts.counts(stage, text, other)
        parts.word(stage, text, other)
        parts.odd(stage, text, other)
        parts.known(stage, aligned=found.keeps)
        parts.textbook(stage, text)

    def formula() -> None:
        stage.formula("tokens.ids")
        stage.see(f"rule_{found.rule}", **found.said)

    def hand() -> None:
        stage.see(f"hand_{found.hand}", **found.said, **said)
        if found.hand in ("pairs", "single"):
            assert isinstance(trace.tokenizer, ByteLevel)
            built = MergesView.of(cutting.ranks(trace.tokenizer), trace.tokens[stage.token], stage.token)
            named = {"start": words("start"), "step": words("step", n="{n}", rank="{rank}")}
            stage.figure(draw_merges(built, named), "merges", words("merges_alt"))

    def code() -> None:
        stage.code(found.snippet, text=text)

    def numbers() -> None:
        headings = [words(f"column_{name}") for name in ("position", "token", "id", "bytes")]
        for name, columns in facts.tables(trace, other):
            st.markdown(f"**{literal(name)}**")
            stage.records(f"tokens.{name}", dict(zip(headings, columns, strict=True)))

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def run() -> None:
    """Open the page."""
    show("tokens", draw, without={"head"})
