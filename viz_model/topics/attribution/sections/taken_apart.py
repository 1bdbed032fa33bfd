"""The four tabs of this page."""

from __future__ import annotations

from viz_model.app import elements
from viz_model.topics.attribution.numbers import by_hand, views
from viz_model.topics.attribution.sections.question import Question


def formula(question: Question) -> None:
    """How the sum is exact, in this model."""
    page, config = question.page, question.page.lm.config
    elements.see(page, "formula" if question.target is not None else "formula_vector")
    norm = f"formula_{type(config.norm).__name__.lower()}{'' if getattr(config.norm, 'shift', True) else '_no_shift'}"
    elements.see(page, norm if page.t.knows(f"attribution.{norm}") else "formula_norm")
    if question.has_norms:
        elements.see(page, f"formula_{'branch' if question.trace.norm_at == 'both' else question.trace.norm_at}")
    if not config.residual:
        elements.see(page, "formula_alone")
    if question.target is not None and "head.act" in question.trace:
        elements.see(page, "formula_masked")
    elements.see(page, "formula_caution")


def hand(question: Question) -> None:
    """One part by its largest terms, then the whole sum."""
    answer, decomposition = question.answer, question.decomposition
    view = views.sum_view(answer)
    row = next(row for row in answer.order() if answer.parts[row].kind != "prior")
    part = answer.parts[row]
    direction = answer.directions[decomposition.passed[row]].numpy()
    elements.see(
        question.page,
        "hand",
        name=question.name(part),
        sum=by_hand.sum_by_hand(view),
        n_rest=view.n_rest,
        added=f"{answer.values.sum():.4f}",
        recorded=f"{answer.total:.4f}",
        **by_hand.part_by_hand(decomposition.written[row].numpy(), direction),
    )


def code(question: Question) -> None:
    covered = question.covered is not None
    position, target, against = question.position, question.target, question.against
    elements.code(question.opened, position=position, token=target, against=against, covered=covered)


def numbers(question: Question) -> None:
    page = question.page
    heading = {name: page.words(f"column_{name}") for name in ("part", "layer", "value")}
    elements.records(page, "attribution", by_hand.columns(question.answer, heading))
