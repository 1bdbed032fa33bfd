"""Below the page on vectors alone: other sentences, which a visitor writes, and how near theirs are."""

from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements, examples, runs
from viz_model.app.choices import maybe, words
from viz_model.app.expander import Door
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.next_token import similarity
from viz_model.topics.next_token.similarity import SentencesView, draw_sentences

SENTENCES = tuple(maybe(words(f"sentence_{n}", r"[\s\S]{0,400}")) for n in range(3))
"""What stands in the boxes for other sentences; None is what the page proposes."""


def _proposed(page: Page) -> tuple[str, ...]:
    """What stands in the boxes as long as nobody has written into them."""
    n = len(SENTENCES)
    if isinstance(page.lm.tokenizer, IdTokenizer):
        return (examples.of(page.lm, page.t.language) * n)[:n]
    return tuple(page.words(f"other_{n}") for n in range(n))


def section(page: Page) -> None:
    """The boxes, a bar for each sentence that can be read, and one of the cosines worked out."""
    others: list[vm.Trace] = []
    columns = st.columns(len(SENTENCES))
    for column, choice, own in zip(columns, SENTENCES, _proposed(page), strict=True):
        typed = page.chosen(choice)
        text = own if typed is None else typed
        box = partial(column.text_input, live="400ms", max_chars=400)
        elements.control(page, choice, box, value=text, help=None)
        readable, _ = runs.readable(text)
        try:
            others += [runs.trace(runs.RunKey(page.view.model, readable))] if readable else []
        except vm.TextError as error:
            column.caption(page.t.error(error))
    if not others:
        elements.see(page, "hand_none")
        return
    view = SentencesView.of(page.trace, others)
    st.subheader(page.words("sentences_title", **view.facts()), anchor=False)
    picture, see = elements.split()
    with picture:
        alt = page.words("sentences_alt")
        elements.picture(page, draw_sentences(view, alt), own=False)
        elements.source(page, page.trace.leaving)
    with see:
        elements.see(page, "sentences", **view.facts())
    elements.see(page, "hand", other=literal(view.texts[0]), **similarity.by_hand(page.trace, others[0]))


DOOR = Door("sentences", (section,), SENTENCES)
