"""What a visitor guesses before it is shown: the options are of this run, and so is the answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from viz_model.app import elements, state
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.measures.lens import predicts
from viz_model.texts.markdown import literal
from viz_model.topics.walk import choices, claims
from viz_model.topics.walk.claims import Divided, Hurt, Largest, Picked
from viz_model.topics.walk.numbers import views
from viz_model.topics.walk.sections import films

_MOST_OPTIONS = 4


class Asked(NamedTuple):
    """A question of a stop: its options with their labels, and what is said of the one that was picked."""

    options: dict[Any, str]
    reply: Callable[[Any], str]


def asked(page: Page, stop: str) -> Asked | None:
    """None where a stop asks nothing of this run."""
    return _ASKED[stop](page) if stop in _ASKED else None


def picked(page: Page, stop: str, question: Asked) -> Any:
    """What the visitor picked, as far as this run offers it."""
    chosen = page.chosen(choices.GUESSES[stop])
    return chosen if chosen in question.options else None


def draw(page: Page, stop: str, question: Asked) -> None:
    """The question with its options, and what is said of a guess."""
    choice, chosen = choices.GUESSES[stop], picked(page, stop, question)
    options = list(question.options)
    is_gap = stop == "look" and page.lm.config.kind == "encoder"
    label = page.words("guess_gap" if is_gap else choice.name)
    elements.control(page, choice, st.pills, options, format_func=question.options.__getitem__, help=None, label=label)
    if chosen is None:
        return
    st.markdown(question.reply(chosen))
    if stop == "break":
        st.button(
            page.words("undo"),
            key="walk.undo",
            icon=":material/undo:",
            on_click=lambda: state.update(**state.choose(page.name, (choice, None))),
        )


def _next(page: Page) -> Asked | None:
    best = views.guesses(page.trace, page.token, _MOST_OPTIONS)
    is_written = page.lm.config.kind == "encoder_decoder" and page.token < len(page.trace) - 1
    if not best or is_written:  # what comes next stands below, in the translation
        return None
    by_id = {guess.id: guess for guess in sorted(best, key=lambda guess: guess.label)}

    def reply(id: int) -> str:
        values = {"best": literal(best[0].label), "chance": percent(best[0].chance)}
        values |= {"picked": literal(by_id[id].label), "own": percent(by_id[id].chance)}
        return claims.NEXT.says(page.t.language, Picked(id, best[0].id), **values)

    return Asked({id: guess.label for id, guess in by_id.items()}, reply)


def _key(page: Page) -> Asked | None:
    head, first = films.head_of(page), views.window(page.trace, page.token).start
    if len(head.seen) < 2:
        return None
    best = max(head.seen, key=lambda row: float(head.shares[row]))
    labels = {row: page.trace.tokens[first + row].label for row in head.seen}
    others = [row for row in head.seen if row != best and labels[row] != labels[best]]
    spread = (
        sorted({others[n] for n in np.linspace(0, len(others) - 1, _MOST_OPTIONS - 1).astype(int)}) if others else []
    )
    by_label = {labels[row]: row for row in [*spread, best]}
    rows = sorted(by_label.values())

    def reply(position: int) -> str:
        row = position - first
        values = {"best": literal(labels[best]), "share": percent(float(head.shares[best]))}
        values |= {"picked": literal(labels[row]), "own": percent(float(head.shares[row]))}
        return claims.KEY.says(page.t.language, Picked(row, best), **values)

    return Asked({first + row: labels[row] for row in rows}, reply) if len(rows) > 1 else None


def _scale(page: Page) -> Asked | None:
    found = views.flatter(page.trace, page.token, page.view.layer, page.view.head)
    if found is None:
        return None
    divided, plain = found

    def reply(_: str) -> str:
        values = {"divided": percent(divided), "plain": percent(plain)}
        return claims.SCALE.says(page.t.language, Divided(divided, plain), **values)

    return Asked({name: page.words(f"scale_{name}") for name in ("sharper", "flatter", "same")}, reply)


def _most(page: Page) -> Asked | None:
    if len(films.head_of(page).seen) < 2:
        return None
    largest = Largest(*views.largest(page.trace, page.token, page.view.layer, page.view.head))

    def reply(_: str) -> str:
        names = {name: page.token_name(position) for name, position in largest._asdict().items()}
        return claims.MOST.says(page.t.language, largest, **names)

    return Asked({name: page.words(f"most_{name}") for name in ("yes", "no")}, reply)


def _block(page: Page) -> Asked | None:
    ride = views.ride(page.trace, page.token)
    if (depth := views.decided(ride)) is None:
        return None
    names = [page.words("depth_start"), *(page.words("depth_block", n=n - 1) for n in ride.depths[1:])]

    def reply(guess: int) -> str:
        answer = literal(ride.guesses[-1][0])
        return claims.BLOCK.says(page.t.language, Picked(guess, depth), answer=answer, place=names[depth])

    return Asked(dict(enumerate(names)), reply)


def _hurts(page: Page) -> Asked | None:
    if not predicts(page.trace):
        return None
    best = views.guesses(page.trace, page.token, 1)[0]
    found = films.broken(page)
    left = {name: part.chances[0] for name, part in found.items()}
    worst = min(left, key=left.__getitem__)

    def reply(name: str) -> str:
        bits = {part: -math.log2(max(chance, 1e-12)) for part, chance in left.items()}
        values = {"best": literal(best.label), "before": percent(best.chance), "after": percent(left[name])}
        values |= {"worst": found[worst].name, "least": percent(left[worst])}
        hurt = Hurt(bits[name], bits[worst], -math.log2(max(best.chance, 1e-12)))
        return claims.HURTS.says(page.t.language, hurt, **values)

    return Asked({name: page.words(f"part_{name}", head=page.view.head) for name in found}, reply)


_ASKED: dict[str, Callable[[Page], Asked | None]] = {
    "look": _next,
    "question": _key,
    "shares": _scale,
    "taken": _most,
    "again": _block,
    "break": _hurts,
}
