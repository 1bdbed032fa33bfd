"""Chinese text along the stretches that a tokenizer cuts first, and what each costs in its other way of writing."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from viz_model.claims import Claim, Verdict
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal, table
from viz_model.tokenizers.text import make_visible
from viz_model.tokenizers.tokenizer import Token, Tokenizer
from viz_model.topics.tokens import second

PAIRS = Path(__file__).parent / "traditional.txt"
"""Simplified characters with the one traditional form that is common: 后, which stands for 後 and 后, is not there."""
MOST_STRETCHES, WIDER = 12, 0xFEE0
"""Stretches that are listed, and how far a full-width sign stands behind its half-width one in Unicode."""

Form = Literal["traditional", "simplified", "full", "half"]


class Stretch(NamedTuple):
    """A stretch of a text, across whose ends no token reaches: its tokens, and another way to write it with its own."""

    text: str
    tokens: tuple[Token, ...]
    form: Form | None
    other: str
    others: tuple[Token, ...]


@functools.cache
def _characters() -> dict[str, str]:
    """Simplified -> traditional."""
    return {pair[0]: pair[1] for pair in PAIRS.read_text(encoding="utf-8").split()}


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def other_form(text: str) -> tuple[Form | None, str]:
    """Another way to write a stretch: traditional or simplified characters, full or half width; none where there is
    none.
    """
    to_traditional = _characters()
    to_simplified = {old: new for new, old in to_traditional.items()}
    width = {code + WIDER: code for code in range(0x21, 0x7F)}
    ways: tuple[tuple[Form, dict[int, str] | dict[int, int]], ...] = (
        ("simplified", str.maketrans(to_simplified)),
        ("traditional", str.maketrans(to_traditional)),
        ("half", width),
        ("full", {half: full for full, half in width.items()}),
    )
    for form, characters in ways:
        if (other := text.translate(characters)) != text:
            return form, other
    return None, text


def stretches(text: str, tokenizer: Tokenizer) -> tuple[Stretch, ...]:
    """The first stretches of a text, as the tokenizer cuts it before anything is joined."""
    found = []
    for word in [word for word in tokenizer.words(text) if word.strip()][:MOST_STRETCHES]:
        form, other = other_form(word)
        tokens, others = (tokenizer.tokens(tokenizer.encode(one, special=False)) for one in (word, other))
        found.append(Stretch(word, tokens, form, other, others))
    return tuple(found)


LENGTH: Verdict[int] = Verdict("tokens.stretch", Claim("single", lambda longest: longest == 1))
"""Of the characters of the longest stretch that has Chinese in it."""
OTHER: Verdict[tuple[int, int]] = Verdict(
    "tokens.form",
    Claim("dearer", lambda counts: counts[1] > counts[0]),
    Claim("cheaper", lambda counts: counts[1] < counts[0]),
)
"""Of the tokens of stretches that can be written in another way: as they are, and in that way."""


def has(look: Look) -> bool:
    """Whether the text has Chinese in it, and is known to be cut into stretches first."""
    return second.has_text(look) and look.trace.tokenizer.rule is not None and is_chinese(second.text(look))


def _found(look: Look) -> tuple[Stretch, ...]:
    return look.once(lambda look: stretches(second.text(look), look.trace.tokenizer), "stretches")


def draw(look: Look) -> Iterator[Line]:
    """A table: a row a stretch, with its tokens as it is and in its other form."""
    words = look.words
    rows = []
    for one in _found(look):
        row = [literal(make_visible(one.text)), _pieces(one.tokens)]
        named = "–" if one.form is None else f"{words(f'form_{one.form}')} {literal(make_visible(one.other))}"
        rows.append([*row, named, "–" if one.form is None else _pieces(one.others)])
    yield Line(table([words(f"stretches_{name}") for name in ("stretch", "tokens", "other", "tokens")], rows, "llll"))


def _pieces(tokens: tuple[Token, ...]) -> str:
    return f"**{len(tokens)}** {' '.join(literal(token.label) for token in tokens)}"


def tell(look: Look) -> Iterator[Line]:
    longest = max((len(one.text.strip()) for one in _found(look) if is_chinese(one.text)), default=1)
    yield look.claim(LENGTH, longest, "", name=literal(look.trace.tokenizer.name))
    with_other = [one for one in _found(look) if one.form is not None]
    if not with_other:
        return
    own, other = sum(len(one.tokens) for one in with_other), sum(len(one.others) for one in with_other)
    yield look.claim(OTHER, (own, other), "", own=own, other=other, n=len(with_other))
