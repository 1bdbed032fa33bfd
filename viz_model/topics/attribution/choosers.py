"""What the question is chosen with, and what is said of it where that does not go without saying."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.tables import Among
from viz_model.explain.sums import Against
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field
from viz_model.island.prose import Line
from viz_model.measures.typed import token_typed
from viz_model.texts.markdown import literal
from viz_model.topics.attribution.asked import LONGEST, Asked, asked, is_of_token, rivals, targets


def choose_word(look: Look) -> Chooser | None:
    question = asked(look)
    return None if look.is_saved or not question.best else _chooser(question, "word", [*map(targets, question.best)])


def choose_against(look: Look) -> Chooser | None:
    question = asked(look)
    if question.targets is None:
        return None
    named = [rivals(best, int(id)) for best, id in zip(question.best, question.targets, strict=True)]
    return _chooser(question, "against", named)


def _chooser(question: Asked, name: str, named: Sequence[Mapping[str, Against]]) -> Chooser:
    """One of a few named choices, one of the best tokens, or any token that is typed; at each position."""
    words, said = question.look.words, question.look.options.get(name, "")
    id = token_typed(question.trace, said)
    typed = {said: said if id is None or not said.startswith("#") else question.plain(id)}
    typed = {} if said in ("", *named[0]) else typed
    rows = []
    for row, offered in zip(named, question.offered, strict=True):
        options = {
            option: words(f"{name}_{option}", token=question.plain(token) if isinstance(token, int) else "")
            for option, token in row.items()
        }
        n_best = 0 if question.look.is_saved else len(offered) - len(typed)  # the best ones are others at each
        best = [(one, label) for one, label in offered.items() if one not in typed][:n_best]
        rows.append({**options, **typed, **dict(best)})
    names, labels = (question.one_of([[*pick(row)] for row in rows]) for pick in (dict.keys, dict.values))
    return Chooser(name, (names, labels), words(name), words(f"{name}_help"), asks=True, is_list=True)


def field(name: str) -> Any:
    """An item: a box to type another token in."""

    def made(look: Look) -> Field | None:
        return Field(name, look.words("typed"), most=LONGEST) if is_of_token(look) else None

    return made


def read_as(name: str) -> Any:
    """An item: which token a typed text was read as."""

    def said(look: Look) -> Iterator[Line]:
        question = asked(look)
        typed = look.options.get(name, "")
        if question.targets is None or not typed or typed in ("top", "none", "average", "second"):
            return
        id = token_typed(question.trace, typed)
        if id is None:
            yield look.note("unknown", typed=literal(typed))
        elif not typed.startswith("#"):
            yield look.note("read_as", token=literal(question.plain(id)), id=id)

    return said


CHOICES = (("word", choose_word), ("against", choose_against))


def introduce(look: Look) -> Iterator[Line]:
    """What is asked where that does not go without saying."""
    question = asked(look)
    if question.covered.any():
        positions = look.by("token", np.array(question.held), "whole")
        said = look.note("covered", token=look.token_named(), position=positions)
        texts = Among(("", said.words.template), question.by(question.covered.astype(int)))
        yield said._replace(words=said.words._replace(template=texts))
    if question.targets is not None and "raw_logits" in question.trace:
        yield look.note("capped", cap=f"{question.trace.model.head.cap:g}")
    if question.targets is None:
        yield Line(look.words("encoder" if look.config.has_logits else "no_head"), "notice")
    elif look.is_saved:
        yield look.note("saved")
