"""The sum itself: its largest parts one by one, what lifts it, what lowers it, and four groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import percent, written
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.explain import sums
from viz_model.explain.sums import Attribution
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.asked import Asked, asked

MOST_PARTS = 11
MOST = 0.5
"""More than this share is "most"."""


def _is_most(share: float) -> bool:
    """Whether it is more than half as it is written, to a tenth of a per cent: beside "50.0%" no part is most."""
    return round(share, 3) > MOST


PARTS: Verdict[Sequence[float]] = Verdict(
    "attribution.parts",
    Claim("none", lambda lifts: not len(lifts)),
    Claim("one", lambda lifts: _is_most(lifts[0])),
    Claim("two", lambda lifts: _is_most(sum(lifts[:2]))),
)
"""Of the shares that parts have in all that lifts a sum, the largest first: how many it takes."""


def _adds_most(group: str) -> Claim[Mapping[str, float]]:
    return Claim(group, lambda groups: all(groups[group] > value for name, value in groups.items() if name != group))


GROUPS: Verdict[Mapping[str, float]] = Verdict(
    "attribution.groups", *map(_adds_most, ("embedding", "attention", "ffn", "constant"))
)
"""Of a sum in four groups."""


@short_repr
class SumView(NamedTuple):
    """The largest parts of a logit, the others in one, and what they add up to.

    ``shown`` are rows of the attribution, by |value| downwards, and ``values`` theirs.
    """

    shown: tuple[int, ...]
    values: np.ndarray
    rest: float
    n_rest: int
    total: float

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each bar begins and how far it goes: the parts, the rest where there is one, and the total."""
        lengths = np.append(self.values, [self.rest] if self.n_rest else [])
        ends = lengths.cumsum()
        return np.append(ends - lengths, 0.0), np.append(lengths, self.total)


def sum_view(answer: Attribution, most: int = MOST_PARTS) -> SumView:
    order = answer.order()
    chosen, others = order[:most], order[most:]
    rest = float(answer.values[others].sum())
    return SumView(tuple(chosen.tolist()), answer.values[chosen], rest, len(others), answer.total)


def draw(look: Look) -> Scene:
    """A waterfall: every bar begins where the one above ends, the last is the total. A click selects a part."""
    question = asked(look)
    view, parts, words = sum_view(question.answer), question.answer.parts, look.words
    starts, lengths = view.steps()
    rival = question.against if isinstance(question.against, int) else question.target
    total = words(f"sum_{question.kind}", target=question.plain(question.target), rival=question.plain(rival))
    rest = [words("rest", n=view.n_rest)] if view.n_rest else []
    names = [*(question.name(parts[row]) for row in view.shown), *rest, total]
    fill = ["positive" if value > 0 else "negative" for value in view.values] + ["residual"] * len(rest) + ["output"]
    picks = [*(question.picks(parts[row]) for row in view.shown), *[None] * (len(rest) + 1)]
    bars = chart.Bars("", lengths, "output", "{{value}}", "+2", fill=fill, picks=picks, starts=starts)
    scale = chart.axis(starts, starts + lengths, title=words(f"axis_{question.kind}"), room=0.03)
    chosen = view.shown.index(question.chosen) if question.chosen in view.shown else None
    alt = words("sum_alt", token=question.token, total=written(view.total, "2"))
    scene = chart.bars("attribution.sum", alt, names, [bars], scale, row=29, chosen=chosen)
    sites = ("logits",) if "logits" in question.trace else (question.trace.leaving,)
    call = look.call("attribution", token=look.token, target=question.target, rival=question.against)
    return look.drawn(look.only_here(scene, layer=False, token=True), sites, data=view, call=call)


def _with_value(question: Asked, row: int) -> str:
    """A part with its value; of a head also what it read."""
    part, words = question.answer.parts[row], question.look.words
    said = {"name": question.name(part), "value": written(question.answer.values[row], "+2")}
    if part.kind != "head" or f"blocks.{part.layer}.{part.at}.pattern" not in question.trace:
        return str(words("part_value", **said))
    reads = sums.reads(question.trace, question.decomposition, question.answer, part)
    return str(words("part_reads", read=literal(question.keys(part.at)[reads.most]), **said))


def _parts(question: Asked, says: Callable[..., str]) -> str:
    """How many parts make half of what lifts the sum, and the two largest of them."""
    answer, lifts, joint = question.answer, question.answer.lifts(), question.look.words("and")
    largest = [row for row in answer.order() if answer.values[row] > 0][:2]
    names = [question.name(answer.parts[row]) for row in largest]
    values = [_with_value(question, row) for row in largest]
    return says(
        question.look.t.language,
        lifts,
        name_one=names[0] if names else "",
        names_two=joint.join(names),
        one=values[0] if values else "",
        two=joint.join(values),
        share_one=percent(sum(lifts[:1])),
        share_two=percent(sum(lifts[:2])),
        n_half=1 + int(np.searchsorted(np.cumsum(lifts), 0.5)),
    )


def title(look: Look) -> Iterator[Line]:
    question = asked(look)
    yield look.title(f"title_{question.kind}", parts=_parts(question, PARTS.label), **question.facts)


def tell(look: Look) -> Iterator[Line]:
    question = asked(look)
    answer, facts = question.answer, question.facts
    yield look.text(f"see_{question.kind}", **facts)
    yield Line(_parts(question, PARTS.says))
    against_it = next((row for row in answer.order() if answer.values[row] < 0), None)
    if against_it is not None:
        yield look.text("see_down", part=_with_value(question, against_it), **facts)
    groups = answer.by_kind()
    said = {name: written(value, "+2") for name, value in groups.items()}
    yield look.text("see_groups", **said, **facts)
    yield Line(GROUPS.says(look.t.language, groups, **said))
