"""The four tabs of this page, and its question: is a part missed by as much as the sum says of it?"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.digits import written
from viz_model.drawing.tables import Among
from viz_model.explain import sums
from viz_model.explain.written import Part
from viz_model.island.held import is_long
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.measures.change import rerun
from viz_model.runs.edits import AblateHead, Edit, Skip
from viz_model.topics.attribution.asked import Asked, asked
from viz_model.topics.attribution.depth import has_norms
from viz_model.topics.attribution.waterfall import SumView, sum_view

TERMS, COLUMNS = 3, ("part", "layer", "value")
"""Of one part's product, terms that are written out; columns of the table of all parts."""


def begins(look: Look) -> Iterator[Line]:
    """How the sum is exact, in this model."""
    question, config = asked(look), look.config
    yield look.text("formula" if question.target is not None else "formula_vector")
    norm = f"formula_{type(config.norm).__name__.lower()}{'' if getattr(config.norm, 'shift', True) else '_no_shift'}"
    yield look.text(norm if look.knows(norm) else "formula_norm")
    if has_norms(look):
        yield look.text(f"formula_{'branch' if look.trace.norm_at == 'both' else look.trace.norm_at}")
    if not config.residual:
        yield look.text("formula_alone")
    if question.target is not None and "head.act" in question.trace:
        yield look.text("formula_masked")
    yield look.text("formula_caution")


def sum_by_hand(view: SumView) -> str:
    """The sum written out, as LaTeX: the shown parts, the others in one, and the total."""
    terms = [theme.signed(value, 3) for value in view.values]
    lines = [" + ".join(terms[n : n + 5]) for n in range(0, len(terms), 5)]
    rest = rf" + \underbrace{{{theme.signed(view.rest, 3)}}}_{{{view.n_rest}}}" if view.n_rest else ""
    return r" \\ {}+ ".join(lines) + rest + rf" = {view.total:.3f}"


def part_by_hand(vector: np.ndarray, direction: np.ndarray) -> dict[str, str]:
    """One part's dot product with the direction at its place [D], by its largest terms, as LaTeX."""
    products = vector * direction
    largest = np.argsort(-np.abs(products), kind="stable")[:TERMS]
    terms = " + ".join(rf"{theme.signed(vector[d])} \cdot {theme.signed(direction[d])}" for d in largest)
    return {"terms": terms, "product": f"{products.sum():.4f}", "n_terms": str(len(products) - len(largest))}


def hand(look: Look) -> tuple[Line, list[Any], dict[str, Any]]:
    """One part by its largest terms, then the whole sum."""
    question = asked(look)
    answer, decomposition = question.answer, question.decomposition
    row = next(row for row in answer.order() if answer.parts[row].kind != "prior")
    vector, direction = decomposition.written[row], answer.directions[decomposition.passed[row]]
    view = sum_view(answer)
    said = look.text(
        "hand",
        name=question.name(answer.parts[row]),
        sum=sum_by_hand(view),
        n_rest=view.n_rest,
        added=f"{answer.values.sum():.4f}",
        recorded=f"{answer.total:.4f}",
        **part_by_hand(vector.numpy(), direction.numpy()),
    )
    return said, [], {}


def code(look: Look) -> tuple[str, dict[str, Any]]:
    question = asked(look)
    named = {"token": question.target, "against": question.against}
    return "attribution", {"position": look.token, "covered": bool(question.covered[question.place]), **named}


def records(look: Look) -> list[tuple[str, str, dict[str, list[Any]]]]:
    """All parts: the site, the layer, and what each adds."""
    answer, words = asked(look).answer, look.words
    order = answer.order()
    parts = [answer.parts[row] for row in order]
    columns = [part.site for part in parts], [part.layer for part in parts], answer.values[order].tolist()
    named = {str(words(f"column_{name}")): list(one) for name, one in zip(COLUMNS, columns, strict=True)}
    return [("parts", "", named)]


TABS = Tabs(lambda look: [], hand, lambda look: [], lambda look: None, begins=begins, own=code, records=records)


def quiz(look: Look) -> Quiz | None:
    """Of the head or feed-forward that lifts the sum most, and nothing where none does, or the run is changed or long.

    What a run without it says is held at the selected token, and asked for at another while it is guessed.
    """
    question, words = asked(look), look.words
    every, trace = question.sums, question.trace
    if trace.edits or trace.visible or trace.n_layers < 2 or is_long(trace):
        return None
    units = [row for row, part in enumerate(every.parts) if part.kind in ("head", "ffn")]
    rows = np.array(units)[every.values[:, units].argmax(-1)]
    values = np.take_along_axis(every.values, rows[:, None], -1)[:, 0]
    options = ("less", "same", "more")
    numbers = [written(value, "2") for value in values]
    labels = question.one_of([[words(f"guess_{option}", value=one) for option in options] for one in numbers])
    names = question.one_of([question.name(every.parts[row]) for row in rows])
    guess = words("guess", part=names, value=question.by(values, "2"))
    asks = guess._replace(template=Among((guess.template, ""), question.by((values <= 0).astype(int))))
    part, value = every.parts[rows[question.place]], float(values[question.place])
    if value <= 0:
        return Quiz(asks, labels, look.by("token", np.array([-1])), "")
    total = float(every.total[question.place])
    without = question.look.once(lambda _: _total_without(question, part), ("without", part))
    fall = total - without
    right = "same" if written(fall, "+2") == written(value, "+2") else "more" if fall > value else "less"
    facts = {"before": written(total, "+2"), "after": written(without, "+2"), "change": written(-fall, "+2")}
    return Quiz(asks, labels, look.by("token", np.array([options.index(right)])), words("guess_found", **facts))


def _total_without(question: Asked, part: Part) -> float:
    """The same sum in a run without the part."""
    assert part.layer is not None  # a head or a feed-forward
    side = question.trace.stack.side
    edit: Edit = Skip(layer=part.layer, part="ffn", side=side)
    if part.kind == "head":
        assert part.head is not None
        attention: Literal["attn", "cross"] = "cross" if part.at == "cross" else "attn"
        edit = AblateHead(layer=part.layer, head=part.head, side=side, attention=attention)
    return sums.total(rerun(question.trace, (edit,)).at(side), question.look.token, question.target, question.against)
