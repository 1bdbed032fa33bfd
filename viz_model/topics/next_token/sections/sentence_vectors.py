"""Vectors alone: what a model without a head puts out, and what a sentence vector is good for."""

from __future__ import annotations

import streamlit as st

import viz_model as vm
from viz_model.app import frame, runs
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.next_token.numbers.sentences import token_vectors
from viz_model.topics.next_token.pictures import sentences

N_OTHERS = 3


def show(stage: Stage) -> None:
    trace, words = stage.trace, stage.words
    site = trace.leaving
    stage.see("output", n=len(trace), d_model=stage.lm.config.d_model)
    others = _others(stage)
    compared = sentences.SentencesView.of(trace, others)
    if others:
        said = {**compared.facts(), "nearest": literal(compared.nearest)}
        st.subheader(words("sentences_title", **said), anchor=False)
        picture, see = stage.split()
        with picture:
            stage.figure(sentences.draw_sentences(compared), "sentences", words("sentences_alt"))
            stage.source(site)
        with see:
            stage.see("sentences", **said)
    around = sentences.TokensView.of(trace, stage.token, words("mean"))
    said = {**around.facts(), "token": stage.token_name(), "like": literal(around.labels[around.like])}
    st.subheader(words("tokens_title" if len(trace) > 1 else "tokens_title_one", **said), anchor=False)
    picture, see = stage.split()
    with picture:
        figure = sentences.draw_tokens(around, trace.full_name(site), words("cosine"))
        stage.figure(figure, "tokens", words("tokens_alt"))
        stage.source(site)
    with see:
        stage.see("tokens", **said)
        if around.n_hidden:
            stage.see("tokens_part", **said)

    def formula() -> None:
        stage.formula(site)
        stage.see("formula")

    def hand() -> None:
        if others:
            stage.see("hand", other=literal(compared.texts[0]), **sentences.by_hand(trace, others[0]))
        else:
            stage.see("hand_none")

    def code() -> None:
        stage.code(token=stage.token, others=[other.text for other in others])

    def numbers() -> None:
        stage.table(site, token_vectors(trace), stage.token_labels, stage.dimension_labels, "vectors")

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def _others(stage: Stage) -> list[vm.Trace]:
    """The runs of the sentences to compare with; an empty box, or one the model cannot read, is left out."""
    if isinstance(stage.lm.tokenizer, IdTokenizer):
        proposed = (frame.examples(stage.lm) * N_OTHERS)[:N_OTHERS]
    else:
        proposed = tuple(stage.words(f"other_{n}") for n in range(N_OTHERS))
    found = []
    for n, (column, text) in enumerate(zip(st.columns(N_OTHERS), proposed, strict=True)):
        typed = column.text_input(
            stage.words(f"sentence_{n}"),
            text,
            key=f"sentence_vectors.sentence_{n}.{stage.view.model}",
            live="400ms",
            persist_state="session",
        )
        readable, _ = runs.readable(typed)
        try:
            found += [runs.trace(runs.RunKey(stage.view.model, readable))] if readable else []
        except vm.TextError as error:
            column.caption(literal(str(error)))
    return found
