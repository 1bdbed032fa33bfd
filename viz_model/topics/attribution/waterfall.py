"""The sum itself: its largest parts one by one, what lifts it, what lowers it, and four groups."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Phrase
from viz_model.explain.sums import Attribution
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.attribution.asked import Asked, asked

MOST_PARTS = 11
MOST = 0.5
"""More than this share is "most"."""


def _is_most(lifts: Any, n: int) -> Any:
    """Whether the first ``n`` are more than half as it is written, to a tenth of a per cent: "50.0%" is not most."""
    return np.round(np.asarray(lifts, dtype=np.float64)[..., :n].sum(-1), 3) > MOST


PARTS: Verdict[Any] = Verdict(
    "attribution.parts",
    Claim("none", lambda lifts: np.sum(lifts, -1) == 0),
    Claim("one", lambda lifts: _is_most(lifts, 1)),
    Claim("two", lambda lifts: _is_most(lifts, 2)),
)
"""Of the shares [.., P] that parts have in all that lifts a sum, the largest first: how many it takes."""


def _adds_most(group: str) -> Claim[Mapping[str, Any]]:
    return Claim(
        group,
        lambda groups: np.all([groups[group] > value for name, value in groups.items() if name != group], axis=0),
    )


GROUPS: Verdict[Mapping[str, Any]] = Verdict(
    "attribution.groups", *map(_adds_most, ("embedding", "attention", "ffn", "constant"))
)
"""Of a sum in four groups."""


@short_repr
class SumView(NamedTuple):
    """The largest parts of a logit, the others in one, and what they add up to.

    ``shown`` [.., S] are rows of the attribution, by |value| downwards, and ``values`` theirs; of several positions
    [T, ..] of them all, ``rest`` and ``total`` too.
    """

    shown: np.ndarray
    values: np.ndarray
    rest: Any
    n_rest: int
    total: Any

    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each bar begins and how far it goes: the parts, the rest where there is one, and the total."""
        rest, total = (np.asarray(one)[..., None] for one in (self.rest, self.total))
        lengths = np.concatenate([self.values, *([rest] if self.n_rest else [])], -1)
        ends = lengths.cumsum(-1)
        return np.concatenate([ends - lengths, 0 * total], -1), np.concatenate([lengths, total], -1)


def sum_view(answer: Attribution, most: int = MOST_PARTS) -> SumView:
    order = answer.order()
    values = np.take_along_axis(answer.values, order, -1)
    return SumView(
        order[..., :most], values[..., :most], values[..., most:].sum(-1), values[..., most:].shape[-1], answer.total
    )


def draw(look: Look) -> Scene:
    """A waterfall: every bar begins where the one above ends, the last is the total. A click selects a part."""
    question, words = asked(look), look.words
    view, parts = sum_view(question.sums), question.sums.parts
    starts, lengths = view.steps()
    ends = range(len(parts), len(parts) + bool(view.n_rest))
    totals = [
        words(f"sum_{question.kind}", target=question.plain(target), rival=question.plain(rival))
        for target, rival in question.compared
    ]
    names = [*map(question.name, parts), *(words("rest", n=view.n_rest) for _ in ends), *dict.fromkeys(totals)]
    last = [names.index(total, ends.stop) for total in totals]
    rest = np.broadcast_to([*ends], (len(last), len(ends)))
    rows = np.concatenate([view.shown, rest, np.array(last)[:, None]], -1)
    colors = np.where(lengths > 0, 0, 1)
    colors[:, view.shown.shape[-1] :] = [2] * len(ends) + [3]
    bars = chart.Bars(
        "", question.by(lengths), "output", "{{name}}\n{{value}}", "+2",
        fill=Among(("positive", "negative", "residual", "output"), question.by(colors)),
        picks=Among([*map(question.picks, parts), *[None] * (len(names) - len(parts))], question.by(rows)),
        starts=question.by(starts),
    )  # fmt: skip
    scale = chart.axis(starts, starts + lengths, title=words(f"axis_{question.kind}"), room=0.03)
    is_chosen = view.shown == question.every_chosen[:, None]
    chosen = np.where(is_chosen.any(-1), is_chosen.argmax(-1), -1)
    alt = words("sum_alt", **question.facts)
    shown = Among(names, question.by(rows))
    scene = chart.bars("attribution.sum", alt, shown, [bars], scale, row=29, chosen=question.by(chosen))
    sites = ("logits",) if "logits" in question.trace else (question.trace.leaving,)
    call = look.call("attribution", token=look.token, target=question.target, rival=question.against)
    return look.drawn(scene, sites, data=sum_view(question.sums.at(question.place)), call=call)


def _with_value(question: Asked, name: str) -> tuple[list[str], np.ndarray, dict[str, Any]]:
    """Parts [T] with their values, of heads also what they read: the two texts, which is of each, and what fills them.

    ``name`` says which of those that are named: "one", "two", or "down".
    """
    parts, words, n = question.sums.parts, question.look.words, ("one", "two", "down").index(name)
    rows, read = question.named[:, n], [each[n] for each in question.read]
    said = {
        f"{name}_name": question.one_of([question.name(parts[row]) for row in rows]),
        f"{name}_value": question.by(np.take_along_axis(question.sums.values, rows[:, None], -1)[:, 0], "+2"),
        f"{name}_read": question.one_of([one or "" for one in read], is_code=True),
    }
    places = {one: f"{{{{{name}_{one}}}}}" for one in ("name", "value", "read")}
    texts = [str(words(f"part_{kind}", **places)) for kind in ("value", "reads")]
    return texts, np.array([one is not None for one in read]).astype(int), said


def _parts(question: Asked) -> tuple[Phrase, Phrase]:
    """How many parts make half of what lifts the sum, in a word or two and with the two largest of them."""
    lifts, joint = question.sums.lifts(), str(question.look.words("and"))
    (first, which, one), (second, others, two) = (_with_value(question, name) for name in ("one", "two"))
    n_half = 1 + (np.cumsum(lifts, -1) < 0.5).sum(-1)
    shares = {f"share_{name}": question.by(lifts[:, :n].sum(-1), "percent") for n, name in ((1, "one"), (2, "two"))}
    kept = {name: f"{{{{{name}}}}}" for name in (*shares, "n_half")}
    kept |= {"name_one": "{{one_name}}", "names_two": joint.join(("{{one_name}}", "{{two_name}}"))}
    labels, texts = [], []
    for held, own, other in zip(PARTS.table(lifts), which, others, strict=True):
        claim, language = PARTS.every[held], question.look.t.language
        values = {**kept, "one": first[own], "two": joint.join((first[own], second[other]))}
        labels.append(claim.label(language, **values))
        texts.append(claim.says(language, **values))
    filled = {**one, **two, **shares, "n_half": question.by(n_half, "whole")}
    return Phrase(question.one_of(labels), filled), Phrase(question.one_of(texts), filled)


def _said(question: Asked) -> tuple[Phrase, Phrase]:
    return question.whole.once(lambda _: _parts(question), "parts")


def title(look: Look) -> Iterator[Line]:
    question = asked(look)
    yield look.title(f"title_{question.kind}", parts=_said(question)[0], **question.facts)


def tell(look: Look) -> Iterator[Line]:
    question = asked(look)
    answer, facts = question.sums, question.facts
    yield look.text(f"see_{question.kind}", **facts)
    yield Line(_said(question)[1])
    texts, which, said = _with_value(question, "down")
    lowers = ["", *(str(look.text("see_down", part=text).words) for text in texts)]
    yield Line(Phrase(Among(lowers, question.by(np.where(answer.values.min(-1) < 0, 1 + which, 0))), said))
    groups = answer.by_kind()
    values = {name: question.by(value, "+2") for name, value in groups.items()}
    yield look.text("see_groups", **values, **facts)
    yield look.claim(GROUPS, groups, "token", **values)
