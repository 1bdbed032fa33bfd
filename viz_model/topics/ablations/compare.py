"""The run as it is and the changed one side by side: what they expect, and where they differ."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import chart, matrix
from viz_model.drawing.scene import Scene
from viz_model.drawing.spans import around
from viz_model.drawing.tables import Among
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import change
from viz_model.measures.change import GUESSES, Firsts
from viz_model.texts.markdown import literal
from viz_model.topics.ablations import breaking
from viz_model.topics.ablations.lab import Lab, finite, lab

MOST_POSITIONS = 48
"""Positions in a map of differences."""


def guesses(own: Lab) -> Firsts:
    key = "guesses", own.positions
    return own.look.once(lambda _: change.firsts(own.answering, own.after.at(own.answers), own.positions), key)


def _named(own: Lab, ids: np.ndarray, *, is_code: bool = False) -> Any:
    """Tokens of the vocabulary by their ids [P, …]; −1 is none."""
    known = np.unique(ids)
    names = ["" if id < 0 else own.plain.tokenizer.token(id).label for id in known.tolist()]
    return Among(names, own.of_answers(np.searchsorted(known, ids)), is_code=is_code)


def predicts(look: Look) -> bool:
    """Whether there are predictions to compare."""
    return lab(look).plain.config.has_logits


def draw_guesses(look: Look) -> Scene:
    own = lab(look)
    found = guesses(own)
    bars = [
        chart.Bars(look.words(f"series_{name}"), own.of_answers(values.astype(np.float32)), role, write="percent")
        for name, values, role in (("before", found.before, "residual"), ("after", found.after, "output"))
    ]
    top = float(np.nanmax([found.before, found.after]))
    scale = chart.axis(np.array([top]), write="%0")
    names: Any = _named(own, found.ids)
    return look.drawn(
        chart.bars("ablations.guesses", look.words("guesses_alt"), names, bars, scale, row=22.0), own=False
    )


def title(look: Look) -> Iterator[Line]:
    own = lab(look)
    if not predicts(look):
        yield look.part("vectors_title", amount=own.amount(own.cost.amount))
        return
    found = guesses(own)
    changed = own.after.at(own.answers).tokens  # of a shuffled text another token stands there
    labels = [_became(a.label, b.label) for a, b in zip(own.answering.tokens, changed, strict=True)]
    named = {name: _named(own, ids, is_code=True) for name, ids in zip(("before", "after"), found.tops, strict=True)}
    named["token"] = Among(labels, own.of_answers(np.array(own.positions)), is_code=True)
    verdict, values, axes = own.each(GUESSES, np.arange(len(found.ids)))
    compared = Compared(found.divergence[values], (found.best[0][values], found.best[1][values]))
    yield look.claim(verdict, compared, axes, "part", **named, **_facts(own, found))


def _became(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


class Compared(NamedTuple):
    """What the verdict on both runs' first guesses is asked of."""

    divergence: Any
    best: tuple[Any, Any]


def _facts(own: Lab, found: Firsts) -> dict[str, Any]:
    return {name: own.of_answers(values, write) for name, (values, write) in found.facts.items()}


def tell(look: Look) -> Iterator[Line]:
    own = lab(look)
    yield look.text("compare", **_facts(own, guesses(own)))


def draw_places(look: Look) -> Scene:
    """Where there are no predictions to compare: how far each token's last vector has turned."""
    own = lab(look)
    found = change.vectors(own.plain, own.after)
    turned = (1 - found.cosines).astype(np.float32)
    bars = [chart.Bars(look.words("turn"), turned, "output", write="4")]
    # What counts as no change must not fill the picture.
    top = max(float(np.nanmax(turned)), 20 * change.UNCHANGED)
    scale = chart.axis(np.array([top]), title=look.words("turn"), write="2")
    return look.drawn(chart.columns("ablations.places", look.words("places_alt"), own.labels, bars, scale), own=False)


def spread_title(look: Look) -> Iterator[Line]:
    own = lab(look)
    first = look.once(lambda _: change.first(own.plain, own.after), "first difference")
    key = "spread_nowhere" if first is None else "spread_title"
    yield look.part(key, site=literal("" if first is None else own.plain.full_name(first.site)))


def draw_spread(look: Look) -> Scene:
    """The map of differences by depth and position; of a long text the positions around the selected one."""
    own = lab(look)
    values = look.once(lambda _: breaking.spread(own.plain, own.after).values, "spread")
    n = len(own.plain)
    part = around(look.token, n, MOST_POSITIONS)
    changed = [token.label for token in own.after.tokens]  # of a shuffled text they are others
    columns = [_became(a, b) for a, b in zip(own.labels, changed, strict=True)][part]
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
    if n > MOST_POSITIONS:
        part = around(look.token, n, MOST_POSITIONS)
        yield look.note("spread_part", first=part.start, last=part.stop - 1, n=n)
    yield look.text("spread")
