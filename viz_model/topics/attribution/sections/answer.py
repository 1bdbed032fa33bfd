"""The answer in a sentence, as the sum that it is, and one part of that sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.writing import percent, signed
from viz_model.topics.attribution import figures
from viz_model.topics.attribution.choices import PART
from viz_model.topics.attribution.claims import GROUPS, PARTS
from viz_model.topics.attribution.numbers import views
from viz_model.topics.attribution.numbers.attribution import Part
from viz_model.topics.attribution.pictures.grid import draw_grid
from viz_model.topics.attribution.pictures.pushes import PushesView
from viz_model.topics.attribution.sections import pushes
from viz_model.topics.attribution.sections.question import Question


def section(question: Question) -> None:
    page = question.opened
    elements.told(page, _covered, "covered", by=("token",))
    _what_is_asked(question)
    elements.told(page, _title, "title", by=("token",))
    picture, see = elements.split()
    with picture:
        _sum(question)
        _grid(question)
    with see:
        elements.told(page, _tell, "see", by=("token",))


def _covered(page: Page) -> Iterator[Said]:
    question = Question.of(page)
    if question.covered is not None:
        yield note(question.page.words("covered", token=page.token_name(), position=question.position))


def _title(page: Page) -> Iterator[Said]:
    question = Question.of(page)
    parts = _parts(question, PARTS.label)
    yield title(page.words(f"title_{question.kind}", parts=parts, **question.facts()))


def _what_is_asked(question: Question) -> None:
    words = question.page.words
    if question.target is not None and "raw_logits" in question.trace:
        st.caption(words("capped", cap=f"{question.trace.model.head.cap:g}"))
    if question.target is None:
        st.info(words("encoder" if question.trace.config.has_logits else "no_head"), icon=":material/info:")


def _chosen(question: Question) -> int:
    """The part of the sum that is looked at; as long as nobody has chosen one, the largest."""
    sites, picked = [part.site for part in question.answer.parts], question.page.chosen(PART)
    return sites.index(picked) if picked in sites else int(question.answer.order()[0])


def _sum(question: Question) -> None:
    """The largest parts, one by one; a click looks at one."""

    def pick(row: Any) -> None:
        if int(row) >= 0:
            question.pick(question.answer.parts[int(row)])

    elements.shown(question.opened, lambda page: _drawn(Question.of(page)), "sum", by=("token",), on_pick=pick)


def _drawn(question: Question) -> Drawn:
    of, asked = question.page.subject, (question.answer, question.target, question.against)
    return figures.of_sum(of, *asked, _chosen(question))


def _parts(question: Question, says: Callable[..., str]) -> str:
    """How many parts make half of what lifts the sum, and the two largest of them."""
    answer, lifts, joint = question.answer, question.answer.lifts(), question.page.words("and")
    largest = [row for row in answer.order() if answer.values[row] > 0][:2]
    names, values = [question.name(answer.parts[row]) for row in largest], [*map(question.with_value, largest)]
    return says(
        question.page.t.language,
        lifts,
        name_one=names[0] if names else "",
        names_two=joint.join(names),
        one=values[0] if values else "",
        two=joint.join(values),
        share_one=percent(sum(lifts[:1])),
        share_two=percent(sum(lifts[:2])),
        n_half=1 + int(np.searchsorted(np.cumsum(lifts), 0.5)),
    )


def _tell(page: Page) -> Iterator[str]:
    question = Question.of(page)
    answer, facts = question.answer, question.facts()
    yield page.prose(f"see_{question.kind}", **facts)
    yield _parts(question, PARTS.says)
    against_it = next((row for row in answer.order() if answer.values[row] < 0), None)
    if against_it is not None:
        yield page.prose("see_down", part=question.with_value(against_it), **facts)
    groups = answer.by_kind()
    written = {name: signed(value) for name, value in groups.items()}
    yield page.prose("see_groups", **written, **facts)
    yield page.verdict(GROUPS, groups, **written)


def part(question: Question) -> None:
    """One part of the sum: the tokens that it pushes up and down."""
    page, answer = question.page, question.answer
    if question.target is None:
        elements.see(page, "no_pushes")
        return
    rows = {part.site: row for row, part in enumerate(answer.parts)}
    shown = answer.parts[_chosen(question)]
    elements.control(
        page,
        PART,
        st.selectbox,
        [answer.parts[row].site for row in answer.order()],
        value=shown.site,
        format_func=lambda site: (
            f"{question.name(answer.parts[rows[site]])}   {signed(float(answer.values[rows[site]]))}"
        ),
    )
    pushes.draw(question, _pushed, "part", by=("token",))
    elements.told(question.opened, _tell_part, "part_told", by=("token",))


def _tell_part(page: Page) -> Iterator[str]:
    question = Question.of(page)
    if question.target is not None:
        name, target = question.name(question.answer.parts[_chosen(question)]), question.label(question.target)
        yield question.page.prose("part", name=name, target=target, **_pushed(question).facts())


def _pushed(question: Question) -> PushesView:
    """What the chosen part says for and against."""
    chosen, trace = _chosen(question), question.trace
    part = question.answer.parts[chosen]
    if part.kind == "prior":
        bias = trace.model.unembedding.bias.detach()
        pushed = (bias - bias.mean()).numpy()
    else:
        pushed = question.pushes(question.decomposition.written[chosen], part)
    return question.pushes_view(pushed)


def _grid(question: Question) -> None:
    """All heads and feed-forward layers at a glance; a click looks at one."""
    page = question.page
    st.markdown(f"**{page.words('grid_title')}**")
    names = {name: page.words(f"grid_{name}") for name in ("layer", "head", "cross", "ffn")}

    def drawn(page: Page) -> Sheet:
        question = Question.of(page)
        return draw_grid(views.grid_view(question.answer), names, (page.view.layer, question.at, page.view.head))

    def pick(data: Sequence[Any]) -> None:
        layer, at, head = data
        question.pick(Part("ffn", int(layer)) if at == "ffn" else Part("head", int(layer), int(head), str(at)))

    elements.figure(question.opened, drawn, "grid", page.words("grid_alt"), on_pick=pick)
    st.caption(page.words("grid_hint") + (f" {page.words('grid_hint_cross')}" if question.crosses else ""))
