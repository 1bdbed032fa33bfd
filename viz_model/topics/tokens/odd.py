"""Both vocabularies, counted: bytes per token, and what splits oddly."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import stacked
from viz_model.drawing.scene import Scene
from viz_model.drawing.stacked import Group, Part
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal, table
from viz_model.tokenizers.tokenizer import Tokenizer, cl100k_base
from viz_model.topics.tokens import second

MOST_SPELT = 6
"""Words of the text that are told in four spellings."""

FORMS: dict[str, Callable[[str], str]] = {
    "space": lambda word: f" {word}",
    "bare": lambda word: word,
    "capital": lambda word: f" {word.capitalize()}",
    "upper": lambda word: f" {word.upper()}",
}
"""Ways to write a word: after a space, without one, with a capital letter, in capitals."""

NUMBERS = range(1000)
FACES = range(0x1F600, 0x1F650)
"""The block *Emoticons* of Unicode."""
CHARACTERS = range(0x4E00, 0xA000, 16)
"""Every sixteenth character of the block *CJK Unified Ideographs* of Unicode."""

MOST_SURVEYED = 400
"""Words that are counted in each spelling."""

LONG = 4
"""Tokens from which on no more is told apart."""


def common_words(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Words of small Latin letters, four at least, that are one token after a space: those of the lowest ids."""
    found: list[str] = []
    for id in range(tokenizer.n_vocab):
        if len(found) == MOST_SURVEYED:
            break
        if id in tokenizer.controls:
            continue
        word = tokenizer.token(id).bytes.decode(errors="ignore").strip()
        # Two entries may spell one word, with a space and without.
        is_plain = len(word) >= 4 and word.isascii() and word.isalpha() and word.islower()
        if is_plain and word not in found and tokenizer.encode(f" {word}", special=False) == [id]:
            found.append(word)
    return tuple(found)


def survey(tokenizer: Tokenizer, words: Sequence[str]) -> dict[str, np.ndarray]:
    """Of ``words`` in each spelling, and of numbers, faces and Chinese characters, how many are 1, 2, 3, and 4 or more
    tokens, and how many the vocabulary lacks.
    """
    kinds: dict[str, list[str]] = {form: [write(word) for word in words] for form, write in FORMS.items()}
    kinds["numbers"] = [str(number) for number in NUMBERS]
    kinds |= {name: [chr(code) for code in codes] for name, codes in (("faces", FACES), ("chinese", CHARACTERS))}
    counted = {kind: [n_tokens(tokenizer, text) for text in texts] for kind, texts in kinds.items()}
    return {
        kind: np.bincount([LONG if n is None else min(n, LONG) - 1 for n in found], minlength=LONG + 1)
        for kind, found in counted.items()
    }


def n_tokens(tokenizer: Tokenizer, text: str) -> int | None:
    """Tokens of a text; None where the vocabulary cannot write it."""
    try:
        ids = tokenizer.encode(text, special=False)
    except ValueError:
        return None
    return None if not ids or tokenizer.unknown_id in ids else len(ids)


class Spellings(NamedTuple):
    """A word in the four :data:`FORMS`: the labels of its tokens in each."""

    word: str
    pieces: tuple[tuple[str, ...], ...]

    @property
    def spread(self) -> int:
        """How many tokens more the longest spelling takes than the shortest."""
        counts = [len(labels) for labels in self.pieces]
        return max(counts) - min(counts)


def spellings(tokenizer: Tokenizer, text: str, most: int) -> tuple[Spellings, ...]:
    """The words of a text whose spellings differ most in tokens."""
    letters = "".join(character if character.isalpha() else " " for character in text)
    words = dict.fromkeys(word.lower() for word in letters.split() if word.lower() != word.upper() and len(word) < 40)
    found = []
    for word in itertools.islice(words, 40):
        tokens = [tokenizer.tokens(tokenizer.encode(write(word), special=False)) for write in FORMS.values()]
        found.append(Spellings(word, tuple(tuple(token.label for token in row) for row in tokens)))
    return tuple(sorted(found, key=lambda one: -one.spread)[:most])


# What the page shows


def counts(text: str, tokenizer: Tokenizer) -> tuple[int, float, float]:
    """Of a text in a vocabulary: its tokens, and how many bytes and characters there are in one."""
    n = len(tokenizer.encode(text, special=False))
    return n, len(text.encode()) / max(1, n), len(text) / max(1, n)


def tell_counts(look: Look) -> Iterator[Line]:
    """What the text costs in each vocabulary."""
    words, text = look.words, second.text(look)
    rows = []
    for one in {one.name: one for one in (look.trace.tokenizer, second.of(look).other, cl100k_base())}.values():
        n, n_bytes, n_characters = counts(text, one)
        rows.append((literal(one.name), f"{one.n_vocab:,}", f"{n:,}", f"{n_bytes:.2f}", f"{n_characters:.2f}"))
    heads = [words(f"count_{name}") for name in ("name", "entries", "tokens", "bytes", "characters")]
    yield Line(table(heads, rows))
    yield look.note("count_note", bytes_n=f"{len(text.encode()):,}", characters_n=f"{len(text):,}")


@functools.lru_cache(maxsize=8)
def surveyed(own: Tokenizer, other: Tokenizer) -> dict[str, dict[str, np.ndarray]]:
    """How two vocabularies spell the common words of the first, and more, by their names."""
    words = common_words(own)
    return {one.name: survey(one, words) for one in (own, other)}


def _found(look: Look) -> dict[str, dict[str, np.ndarray]]:
    return surveyed(look.trace.tokenizer, second.of(look).other)


title = say.title("odd")


def finding(look: Look) -> Iterator[Line]:
    kinds = _found(look)[look.trace.tokenizer.name]
    n = kinds["bare"].sum()
    whole = {kind: f"{counts[0]:,}" for kind, counts in kinds.items()}
    yield Line(look.words("odd_title" if n else "odd_title_none", n=n, **whole), "part")


def tell(look: Look) -> Iterator[Line]:
    own, other = look.trace.tokenizer.name, second.of(look).other.name
    yield look.text("odd", n=_found(look)[own]["bare"].sum(), name=literal(own), other=literal(other))


def draw(look: Look) -> Scene:
    """For each vocabulary a bar for each kind of text: which share is one token, two, three, or more."""
    return draw_survey(look, _found(look))


def draw_survey(look: Look, found: Mapping[str, Mapping[str, np.ndarray]]) -> Scene:
    shades = {"tokens_1": ("query", 1.0), "tokens_2": ("ffn", 0.3), "tokens_3": ("ffn", 0.65), "tokens_4": ("ffn", 1.0)}
    shades["unknown"] = "token", 0.45
    parts = [Part(look.words(f"odd_{name}"), *shade) for name, shade in shades.items()]
    groups = []
    for vocabulary, kinds in found.items():
        counts = {look.words(f"odd_{kind}"): counts for kind, counts in kinds.items() if counts.any()}
        said = [
            [
                f"{name}\n{one.name}: {n:,} / {row.sum():,} ({n / row.sum():.1%})"
                for one, n in zip(parts, row, strict=True)
            ]
            for name, row in counts.items()
        ]
        shares = np.array([row / row.sum() for row in counts.values()])
        groups.append(Group(vocabulary, list(counts), shares, said))
    return stacked.scene("tokens.odd", look.words("odd_alt"), parts, groups)


def own_words(look: Look) -> Iterator[Line]:
    """Words of the text in four spellings."""
    own = look.trace.tokenizer
    if not (rows := spellings(own, second.text(look), MOST_SPELT)):
        return
    yield Line(look.words("odd_yours", name=literal(own.name)), "part")
    cells = [[f"**{len(labels)}** {' '.join(map(literal, labels))}" for labels in one.pieces] for one in rows]
    yield Line(table([look.words(f"odd_{form}") for form in FORMS], cells, "llll"))
