"""Vectors alone: what a model without a head puts out, and what a sentence vector is good for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import streamlit as st

import viz_model as vm
from viz_model.app import elements, examples, runs
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.next_token.choices import SENTENCES
from viz_model.topics.next_token.numbers.by_hand import sentences_by_hand
from viz_model.topics.next_token.numbers.sentences import sentence_vector, token_vectors
from viz_model.topics.next_token.numbers.views import sentences_view, similarity_view
from viz_model.topics.next_token.pictures.sentences import SentencesView, draw_sentences
from viz_model.topics.next_token.pictures.similarity import SimilarityView, draw_similarity


class Compared(NamedTuple):
    """The sentence beside others.

    Attributes:
        texts: what the boxes hold.
        others: the runs of those that the model can read; an empty box is left out.
        errors: by the box, why its text cannot be read.
    """

    page: Page
    texts: tuple[str, ...]
    others: tuple[vm.Trace, ...]
    errors: dict[int, str]

    @classmethod
    def of(cls, page: Page) -> Compared:
        typed = [page.chosen(choice) for choice in SENTENCES]
        texts = tuple(own if text is None else text for own, text in zip(_proposed(page), typed, strict=True))
        others, errors = [], {}
        for n, text in enumerate(texts):
            readable, _ = runs.readable(text)
            try:
                others += [runs.trace(runs.RunKey(page.view.model, readable))] if readable else []
            except vm.TextError as error:
                errors[n] = page.t.error(error)
        return cls(page, texts, tuple(others), errors)

    @property
    def view(self) -> SentencesView:
        return sentences_view(self.page.trace, self.others)


def _proposed(page: Page) -> tuple[str, ...]:
    """What stands in the boxes as long as nobody has written into them."""
    n = len(SENTENCES)
    if isinstance(page.lm.tokenizer, IdTokenizer):
        return (examples.of(page.lm, page.t.language) * n)[:n]
    return tuple(page.words(f"other_{n}") for n in range(n))


def section(compared: Compared) -> None:
    """How near other sentences are, which the visitor writes."""
    page, trace = compared.page, compared.page.trace
    elements.see(page, "output", n=len(trace), d_model=page.lm.config.d_model)
    for n, (column, choice) in enumerate(zip(st.columns(len(SENTENCES)), SENTENCES, strict=True)):
        box = partial(column.text_input, live="400ms", max_chars=400)
        elements.control(page, choice, box, value=compared.texts[n], help=None)
        if n in compared.errors:
            column.caption(compared.errors[n])
    if not compared.others:
        return
    view = compared.view
    facts = {**view.facts(), "nearest": literal(view.nearest)}
    st.subheader(page.words("sentences_title", **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        elements.figure(page, draw_sentences(view), "sentences", page.words("sentences_alt"))
        elements.source(page, trace.leaving)
    with see:
        elements.see(page, "sentences", **facts)


def tokens(compared: Compared) -> None:
    """How near the tokens of the sentence are to each other."""
    page, site = compared.page, compared.page.trace.leaving
    elements.told(page, _tokens_title, "tokens_title", by=("token",))
    picture, see = elements.split()
    with picture:
        names = page.trace.full_name(site), page.words("cosine")
        elements.figure(
            page,
            lambda page: draw_similarity(_similarity(page), *names),
            "tokens",
            page.words("tokens_alt"),
            by=("token",),
        )
        elements.source(page, site)
    with see:
        elements.told(page, _tell_tokens, "tokens_told", by=("token",))


def _similarity(page: Page) -> SimilarityView:
    return similarity_view(page.trace, page.token, page.words("mean"))


def _tokens_facts(page: Page, view: SimilarityView) -> dict[str, str]:
    return {**view.facts(), "token": page.token_name(), "like": literal(view.labels[view.like])}


def _tokens_title(page: Page) -> Iterator[Said]:
    facts = _tokens_facts(page, _similarity(page))
    yield title(page.words("tokens_title" if len(page.trace) > 1 else "tokens_title_one", **facts))


def _tell_tokens(page: Page) -> Iterator[str]:
    view = _similarity(page)
    facts = _tokens_facts(page, view)
    yield page.prose("tokens", **facts)
    if view.n_hidden:
        yield page.prose("tokens_part", **facts)


def formula(compared: Compared) -> None:
    elements.formula(compared.page, compared.page.trace.leaving)
    elements.see(compared.page, "formula")


def hand(compared: Compared) -> None:
    page = compared.page
    if not compared.others:
        elements.see(page, "hand_none")
        return
    worked = sentences_by_hand(page.trace, compared.others[0])
    elements.see(page, "hand", other=literal(compared.view.texts[0]), **worked)
    if st.toggle(page.words("hand_all"), key=f"{page.text_key}.hand.all"):
        d = int(worked["d"])
        elements.records(page, f"{d}", {"t": page.token_labels, f"[{d}]": token_vectors(page.trace)[:, d].tolist()})
        a, b = map(sentence_vector, (page.trace, compared.others[0]))
        columns = {"d": range(len(a)), "a": a.tolist(), "b": b.tolist(), "a·b": (a * b).tolist()}
        elements.records(page, "products", columns)


def code(compared: Compared) -> None:
    elements.code(compared.page, token=compared.page.token, others=[other.text for other in compared.others])


def numbers(compared: Compared) -> None:
    page, site = compared.page, compared.page.trace.leaving
    elements.table(page, site, token_vectors(page.trace), page.token_labels, page.dimension_labels, "vectors")
