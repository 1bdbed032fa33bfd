"""What a head reads from where, what of it arrives, and which tokens that speaks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.ahead import DIMENSIONS
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.drawing.writing import percent, share, signed
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.choices import AT
from viz_model.topics.attribution.claims import SINK
from viz_model.topics.attribution.numbers import views
from viz_model.topics.attribution.numbers.attribution import Part
from viz_model.topics.attribution.pictures.pushes import PushesView
from viz_model.topics.attribution.pictures.reads import ReadsView, draw_reads
from viz_model.topics.attribution.sections import pushes
from viz_model.topics.attribution.sections.question import Question


def section(question: Question) -> None:
    page, answer = question.page, question.answer
    part = _part(question)
    elements.told(question.opened, _title, "head_title")
    best = max((p for p in answer.parts if p.kind == "head"), key=answer.of)
    st.button(
        page.words("best_head", name=question.name(best), value=signed(answer.of(best))),
        key="attribution.best_head",
        on_click=question.show_head,
        args=(best,),
        disabled=best == part,
        type="tertiary",
        icon=":material/trending_up:",
    )
    if question.crosses:
        elements.choose(page, AT, ("attn", "cross"), help=None)
    left, right = st.columns(2, gap="large")
    with left:
        labels = {label: page.words(f"reads_{label}") for label in ("weight", "share", "value", "axis", "key")}
        elements.figure(
            question.opened,
            lambda page: draw_reads(_reads_view(Question.of(page)), labels),
            "reads",
            page.words("reads_alt"),
        )
        elements.source(page, page.at(f"{part.at}.pattern"), page.at(f"{part.at}.v"))
        elements.told(question.opened, _part_of_reads, "reads_part")
    with right:
        elements.told(question.opened, _tell, "head_told")
        if question.target is not None:
            pushes.draw(question, _pushed, "head", by=DIMENSIONS)
        link = "cross_attention" if part.at == "cross" else "attention"
        if link in page.pages:
            st.page_link(page.pages[link], label=page.words("to_attention"), icon=":material/arrow_forward:")


def _part(question: Question) -> Part:
    """The chosen head."""
    return Part("head", question.page.view.layer, question.page.view.head, question.at)


def _reads_view(question: Question) -> ReadsView:
    part = _part(question)
    return views.reads_view(question.keys(part.at), question.reads(part))


def _part_of_reads(opened: Page) -> Iterator[Said]:
    """That a long row of keys is drawn in part."""
    question = Question.of(opened)
    view = _reads_view(question)
    if len(view.keys) < view.n_keys:
        yield note(question.page.words("reads_part", n=len(view.keys), n_keys=view.n_keys))


def _pushed(question: Question) -> PushesView:
    """What the chosen head says for and against."""
    part = _part(question)
    return question.pushes_view(question.pushes(question.reads(part).written, part))


def _facts(question: Question) -> dict[str, object]:
    part = _part(question)
    reads = question.reads(part)
    keys, strongest = question.keys(part.at), int(np.abs(reads.values).argmax())
    return question.facts() | {
        "name": question.name(part),
        "value": signed(question.answer.of(part)),
        "most": literal(keys[reads.most]),
        "most_weight": share(reads.weights[reads.most]),
        "most_share": share(reads.shares[reads.most]),
        "length": f"{float(reads.written.norm()):.2f}",
        "from": literal(keys[strongest]),
        "from_value": signed(float(reads.values[strongest])),
    }


def _title(opened: Page) -> Iterator[Said]:
    question = Question.of(opened)
    said = question.page.words("head_title", **_facts(question))
    yield title(said[0].upper() + said[1:])


def _tell(opened: Page) -> Iterator[str]:
    question = Question.of(opened)
    page, part = question.page, _part(question)
    keys, reads = question.keys(part.at), question.reads(part)
    yield page.prose("head", **_facts(question))
    weight, share = float(reads.weights[reads.least]), float(reads.shares[reads.least])
    written = {"weight": percent(weight), "share": percent(share)}
    yield page.verdict(SINK, (weight, share), sink=literal(keys[reads.least]), **written)
