"""The run as it is and the changed one side by side: what they expect, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from viz_model.drawing import chart, matrix
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import change
from viz_model.measures.change import GUESSES
from viz_model.runs import measures
from viz_model.texts.markdown import literal
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.lab import Lab, finite, lab

SHOWN, MOST_POSITIONS = 6, 48
"""First guesses of each run that are shown, together at most twice as many; positions in a map of differences."""


class Guesses(NamedTuple):
    """The first guesses of two runs at every position that answers, in falling order of the first run's probability.

    ``ids`` [P, N] is −1, and ``before`` and ``after`` are NaN, where there are fewer; ``best`` are the places of both
    runs' first guess, and ``divergence`` and ``entropies`` are in bits, over the full vocabulary.
    """

    ids: np.ndarray
    before: np.ndarray
    after: np.ndarray
    best: tuple[np.ndarray, np.ndarray]
    divergence: np.ndarray
    entropies: tuple[np.ndarray, np.ndarray]


def guesses(own: Lab) -> Guesses:
    return own.look.once(lambda _: _guesses(own), ("guesses", own.positions))


def _guesses(own: Lab) -> Guesses:
    runs = own.answering, own.after.at(own.answers)
    rows: list[Any] = []
    for position in own.positions:
        logs = [run.row("logits", position).double().log_softmax(-1) for run in runs]
        first = torch.cat([log.nan_to_num(nan=-torch.inf).topk(min(SHOWN, len(log))).indices for log in logs]).unique()
        ids = first[logs[0][first].argsort(descending=True, stable=True)]
        probs = [log[ids].exp() for log in logs]
        bits = measures.divergence(*logs).item(), *(measures.entropy(log).item() for log in logs)
        rows.append((ids.numpy(), *(one.numpy() for one in probs), bits))
    n = max(len(row[0]) for row in rows)

    def filled(k: int, empty: float) -> np.ndarray:
        return np.array([[*row[k], *[empty] * (n - len(row[k]))] for row in rows])

    before, after = filled(1, np.nan), filled(2, np.nan)
    best = tuple(np.where(np.isnan(each), -1.0, each).argmax(-1) for each in (before, after))
    divergence, *entropies = np.array([row[3] for row in rows]).T
    return Guesses(filled(0, -1).astype(int), before, after, best, divergence, tuple(entropies))


def _named(own: Lab, ids: np.ndarray, *, is_code: bool = False) -> Any:
    """Tokens of the vocabulary by their ids [P, …]; −1 is none."""
    known = np.unique(ids)
    names = ["" if id < 0 else own.plain.tokenizer.token(id).label for id in known.tolist()]
    return Among(names, own.of_answers(np.searchsorted(known, ids)), is_code=is_code)


def draw_guesses(look: Look) -> Scene | None:
    own = lab(look)
    if not look.trace.edits or not own.plain.config.has_logits:
        return None
    found = guesses(own)
    bars = [
        chart.Bars(look.words(f"series_{name}"), own.of_answers(values.astype(np.float32)), role, write="percent")
        for name, values, role in (("before", found.before, "residual"), ("after", found.after, "output"))
    ]
    top = float(np.nanmax([found.before, found.after]))
    scale = chart.axis(np.array([top]), write="%0" if top > 0.05 else "%1" if top > 0.005 else "%2")
    names: Any = _named(own, found.ids)
    return look.drawn(
        chart.bars("ablations.guesses", look.words("guesses_alt"), names, bars, scale, row=22.0), own=False
    )


def title(look: Look) -> Iterator[Line]:
    own = lab(look)
    if not look.trace.edits:
        return
    if not own.plain.config.has_logits:
        yield look.part("vectors_title", amount=own.amount(own.cost.amount))
        return
    found = guesses(own)
    entries = np.arange(len(found.ids))
    best = [found.ids[entries, at] for at in found.best]
    answering = own.answering
    labels = [token.label for token in answering.tokens]
    named = {"before": _named(own, best[0], is_code=True), "after": _named(own, best[1], is_code=True)}
    named["token"] = Among(labels, own.of_answers(np.array(own.positions)), is_code=True)
    verdict, values, axes = own.each(GUESSES, np.arange(len(found.ids)))
    compared = Compared(found.divergence[values], (found.best[0][values], found.best[1][values]))
    yield look.claim(verdict, compared, axes, "part", **named, **_shares(own, found))


class Compared(NamedTuple):
    """What the verdict on both runs' first guesses is asked of."""

    divergence: Any
    best: tuple[Any, Any]


def _shares(own: Lab, found: Guesses) -> dict[str, Any]:
    entries, (was, now) = np.arange(len(found.ids)), found.best
    values = {"p_before": found.before[entries, was], "p_after": found.after[entries, was]}
    values["p_new"] = found.after[entries, now]
    return {name: own.of_answers(one, "percent") for name, one in values.items()}


def tell(look: Look) -> Iterator[Line]:
    own = lab(look)
    if look.trace.edits and own.plain.config.has_logits:
        found = guesses(own)
        low, high = found.entropies
        facts = {"divergence": own.of_answers(found.divergence, "3"), "entropy_before": own.of_answers(low, "2")}
        facts |= {"entropy_after": own.of_answers(high, "2"), "entropy_change": own.of_answers(high - low, "+2")}
        yield look.text("compare", **facts)


def draw_places(look: Look) -> Scene | None:
    """Where there are no predictions to compare: how far each token's last vector has turned."""
    own = lab(look)
    if not look.trace.edits or own.plain.config.has_logits:
        return None
    found = change.vectors(own.plain, own.after)
    turned = (1 - found.cosines).astype(np.float32)
    bars = [chart.Bars(look.words("turn"), turned, "output", write="4")]
    # What counts as no change must not fill the picture.
    top = max(float(np.nanmax(turned)), 20 * change.UNCHANGED)
    scale = chart.axis(np.array([top]), title=look.words("turn"), write="2")
    return look.drawn(chart.columns("ablations.places", look.words("places_alt"), own.labels, bars, scale), own=False)


def spread_title(look: Look) -> Iterator[Line]:
    own = lab(look)
    if look.trace.edits:
        first = look.once(lambda _: change.first(own.plain, own.after), "first difference")
        key = "spread_nowhere" if first is None else "spread_title"
        yield look.part(key, site=literal("" if first is None else own.plain.full_name(first.site)))


def draw_spread(look: Look) -> Scene | None:
    """The map of differences by depth and position; of a long text the positions around the selected one."""
    own = lab(look)
    if not look.trace.edits:
        return None
    values = look.once(lambda _: breaking.spread(own.plain, own.after).values, "spread")
    n = len(own.plain)
    first = max(0, min(look.token - MOST_POSITIONS // 2, n - MOST_POSITIONS))
    part = slice(first, first + MOST_POSITIONS)
    changed = [token.label for token in own.after.tokens]  # of a shuffled text they are others
    columns = [a if a == b else f"{a} → {b}" for a, b in zip(own.labels, changed, strict=True)][part]
    rows, shown = own.depths[::-1], finite(values[::-1, part])
    scene = matrix.scene(
        "ablations.spread", look.words("spread_alt"), shown, rows, columns,
        axes=(look.words("axis_depth"), look.words("axis_position")),
        top=float(np.clip(np.nanmax(values[np.isfinite(values)], initial=0.0), 0.02, 1.0)), frames=False,
        look="share", role="output", site="‖after − before‖ / ‖before‖", labels=(rows, columns), written=False,
    )  # fmt: skip
    scene = look.drawn(scene, own=False)
    return look.only_here(scene, layer=False, token=True) if n > MOST_POSITIONS else scene


def tell_spread(look: Look) -> Iterator[Line]:
    n = len(look.trace)
    if not look.trace.edits:
        return
    if n > MOST_POSITIONS:
        first = max(0, min(look.token - MOST_POSITIONS // 2, n - MOST_POSITIONS))
        yield look.note("spread_part", first=first, last=first + MOST_POSITIONS - 1, n=n)
    yield look.text("spread")
