"""The question of this page: is a part missed by as much as the sum says of it?"""

from __future__ import annotations

from typing import Literal

from viz_model.app import elements
from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.drawing.writing import signed
from viz_model.runs.edits import AblateHead, Edit, Skip
from viz_model.topics.ablations.numbers.breaking import rerun
from viz_model.topics.attribution.numbers import attribution
from viz_model.topics.attribution.numbers.attribution import Part
from viz_model.topics.attribution.sections.question import Question


def question(question: Question) -> None:
    elements.question(question.opened, guess=_guess)


def _guess(opened: Page) -> Guess | None:
    """Of the head or feed-forward that lifts the sum most; None where none does, or the run has changes of its own."""
    question = Question.of(opened)
    page, answer = question.page, question.answer
    rows = [row for row, part in enumerate(answer.parts) if part.kind in ("head", "ffn") and answer.values[row] > 0]
    if not rows or question.trace.edits or question.trace.visible or question.trace.n_layers < 2:
        return None
    row = max(rows, key=lambda row: float(answer.values[row]))
    part, value = answer.parts[row], float(answer.values[row])
    facts = {"part": question.name(part), "value": f"{value:.2f}"}

    def found() -> Answer:
        without = _total_without(question, part)
        fall = answer.total - without
        right = "same" if signed(fall) == signed(value) else "more" if fall > value else "less"
        numbers = {"before": signed(answer.total), "after": signed(without), "change": signed(-fall)}
        return Answer(right, page.words("guess_found", **facts, **numbers))

    options = {name: page.words(f"guess_{name}", **facts) for name in ("less", "same", "more")}
    return Guess(page.words("guess", **facts), options, found)


def _total_without(question: Question, part: Part) -> float:
    """The same sum in a run without the part."""
    assert part.layer is not None  # a head or a feed-forward
    side = question.trace.stack.side
    edit: Edit = Skip(layer=part.layer, part="ffn", side=side)
    if part.kind == "head":
        assert part.head is not None
        attention: Literal["attn", "cross"] = "cross" if part.at == "cross" else "attn"
        edit = AblateHead(layer=part.layer, head=part.head, side=side, attention=attention)
    without = rerun(question.trace, (edit,)).at(side)
    parts = attribution.decompose(without, question.position)
    if question.target is None:
        return attribution.of_vector(without, parts).total
    return attribution.of_logit(without, parts, question.target, question.against).total
