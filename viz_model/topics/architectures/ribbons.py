"""The second model's own tokens; a click on one of those of the stack in view follows that one there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viz_model.drawing.chips import chip
from viz_model.island.look import Look
from viz_model.island.page import Ribbon
from viz_model.island.prose import Line
from viz_model.topics.architectures import pair
from viz_model.topics.architectures.pair import One


def _is_there(one: One, n: int) -> bool:
    return one.trace is not None and n < len(one.config.sides)


def _label(n: int) -> str:
    return "tokens_target" if n else "tokens"


def title(n: int) -> Callable[[Look], Iterator[Line]]:
    def said(look: Look) -> Iterator[Line]:
        one = pair.both(look)[1]
        if _is_there(one, n):
            yield look.note(_label(n), model=one.code_name)

    return said


def ribbon(n: int) -> Callable[[Look], Ribbon | None]:
    def made(look: Look) -> Ribbon | None:
        one = pair.both(look)[1]
        if one.trace is None or not _is_there(one, n):
            return None
        side, label = one.config.sides[n], look.words(_label(n), model=one.name)
        chips = [chip(token, position, under=token.id) for position, token in enumerate(one.trace.at(side).tokens)]
        if side != one.side:
            return Ribbon(f"{side}.tokens", label, chips)
        there = look.by("token", pair.tokens_of(look, one))
        return Ribbon(f"{side}.tokens", label, chips, there, "other_token", "token")

    return made
