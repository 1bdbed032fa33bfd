"""The question at the end of a page: one guesses first, and reads then what this run has."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import streamlit as st

from viz_model.app import following, state
from viz_model.app.ahead import DIMENSIONS
from viz_model.app.choices import GUESS
from viz_model.app.elements.controls import control
from viz_model.app.markdown_tree import tree
from viz_model.app.page import Page
from viz_model.texts.markdown import literal

MOST_OPTIONS = 6


class Answer(NamedTuple):
    """What this run has: the name of the right option, and a sentence on it that is true whatever was guessed."""

    right: str
    said: str


class Guess(NamedTuple):
    """A question with options, of which this run makes one right.

    Attributes:
        asked: the question.
        options: labels by the names that the address holds.
        answer: computed once somebody has guessed.
        own: what each option has, in a few words, for who picked another than the right one.
    """

    asked: str
    options: Mapping[str, str]
    answer: Callable[[], Answer]
    own: Mapping[str, str] = {}


class Option(NamedTuple):
    """One of those among which the largest value is looked for; ``name`` as it stands in prose."""

    label: str
    value: float
    name: str


def spread(n: int, most: int = MOST_OPTIONS) -> list[int]:
    """At most so many of 0 … n − 1, evenly spaced, the first and the last among them."""
    return sorted({*np.linspace(0, n - 1, min(n, most)).round().astype(int).tolist()}) if n else []


def largest(
    page: Page, options: Mapping[int, Option], write: Callable[[float], str], key: str = "guess", /, **values: object
) -> Guess | None:
    """Which of these is the largest? None where there are no two that differ as they are written.

    The page's text ``key`` asks it, and ``key_found`` tells of the ``{{best}}`` and its value ``{{most}}``. Of options
    with one label the first is offered, and none beside the largest that is written like it.
    """
    if not options:
        return None
    best = max(options, key=lambda n: options[n].value)
    most, label = write(options[best].value), options[best].label
    by_label: dict[str, int] = {label: best}
    for n, option in options.items():
        if write(option.value) != most:
            by_label.setdefault(option.label, n)
    if len(by_label) < 2:
        return None
    offered = sorted(by_label.values())
    said = page.words(f"{key}_found", best=options[best].name, most=most, **values)
    own = {str(n): page.t("common.guess_own", name=options[n].name, value=write(options[n].value)) for n in offered}
    labels = {str(n): options[n].label for n in offered}
    return Guess(page.words(key, **values), labels, lambda: Answer(str(best), said), own)


def of_tokens(page: Page, labels: Sequence[str], value: Callable[[int], float]) -> dict[int, Option]:
    """Some of a text's tokens, evenly spread over it, each with its value."""
    return {n: Option(literal(labels[n]), value(n), literal(labels[n])) for n in spread(len(labels))}


def of_heads(page: Page, values: Sequence[float]) -> dict[int, Option]:
    """Some of a layer's heads, each with its value."""
    names = {n: page.t("common.guess_head", n=n) for n in spread(len(values))}
    return {n: Option(name, float(values[n]), name) for n, name in names.items()}


def draw(page: Page, guess: Guess, make: Callable[[Page], Guess | None] | None) -> None:
    """The question with its options, and once somebody has picked one, what this run has.

    Args:
        make: the question for any layer, head and token; None where it belongs to those of the page alone.
    """
    key = f"{page.text_key}.{GUESS.name}.part"

    def drawn() -> None:
        with state.fragment(key):
            _draw(page, guess)

    if make is None:
        st.fragment(drawn, key=key)()
        return
    place = f"{page.text_key}.{GUESS.name}.told"
    with st.container(key=place):
        st.fragment(drawn, key=key)()
    by = tuple(name for name in DIMENSIONS if name not in page.without)
    following.keep(page, place, by, _sent(page, guess), lambda page: _sent(page, make(page)))


def _sent(page: Page, guess: Guess | None) -> following.Said:
    """A question that nobody has answered, as the browser writes it."""
    if guess is None or _picked(page.chosen(GUESS), guess, _place(page)) is not None:
        return None
    asked, *options = [tree(words) for words in (_asked(page, guess), *guess.options.values())]
    return None if asked is None or None in options else [["options", [asked, *options]]]


def _asked(page: Page, guess: Guess) -> str:
    return f"**{page.t('common.guess')}** {guess.asked}"


def _draw(page: Page, guess: Guess) -> None:
    names, end = list(guess.options), _place(page)
    chosen = _picked(page.chosen(GUESS), guess, end)
    control(
        page,
        GUESS,
        st.pills,
        names,
        label=_asked(page, guess),
        format_func=lambda name: guess.options[name],
        help=None,
        read=lambda name: name + end,
        write=lambda held: _picked(held, guess, end),
    )
    if chosen is None:
        return
    answer = guess.answer()
    if chosen == answer.right:
        st.markdown(f"{page.t('common.guess_right')} {answer.said}")
    else:
        own = guess.own.get(chosen, "")
        st.markdown(" ".join(part for part in (page.t("common.guess_wrong"), own, answer.said) if part))


def _picked(held: str | None, guess: Guess, end: str) -> str | None:
    """The option that was picked; none where the guess was of another text or place, or is none of the options."""
    name = held.removesuffix(end) if held is not None and held.endswith(end) else None
    return name if name in guess.options else None


def _place(page: Page) -> str:
    """What a guess is of: text, model, and the layer, head and token that the page looks at. It ends the address's."""
    looked = [getattr(page.view, name) for name in ("layer", "head") if name not in page.without]
    of = (page.run_key, page.view.side, page.token if "token" not in page.without else None, *looked)
    return f".{zlib.crc32(repr(of).encode()) & 0xFFFF:04x}"
