"""A word of the visitor's own, taken apart as a tokenizer does it, step by step."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import percent, written
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, By, by
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field, Typed
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal, table
from viz_model.tokenizers.text import TextError, make_visible
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.tokens import merges, second, splitting
from viz_model.topics.tokens.merges import MergesView

LONGEST_WORD, MOST_STEPS = 60, 240
"""Characters of a typed word, and joins of it: a character has four bytes at the most."""
SHOWN_TRIES, MOST_UNASKED, MOST_PAIRS = 4, 3, 24
"""Look-ups in vain and pairs that are listed, and characters of a word that nobody has chosen where nothing parts
words.
"""
OPTIONS = (
    ("word_typed", Typed("", LONGEST_WORD)),
    ("word_by", ("own", "other")),
    ("word_stretch", range(splitting.MOST_WORDS)),
    ("word_step", range(MOST_STEPS + 1)),
)
"""What is typed, empty is the longest word of the text; which vocabulary cuts it; of a text that is cut into stretches
first which, unasked the longest of them; how many joins are made.
"""

JOINS: Verdict[Any] = Verdict("tokens.joins", Claim("next", lambda can: can > 0))
"""Of how many of the pairs of a word's neighbors can be joined."""


class Word(NamedTuple):
    """A word that is cut: the first stretches of what was typed, and which of them is told of."""

    tokenizer: Tokenizer
    splits: tuple[splitting.Split, ...]
    chosen: int
    error: str = ""

    @property
    def split(self) -> splitting.Split:
        return self.splits[self.chosen]


def vocabularies(look: Look) -> dict[str, Tokenizer]:
    """Those that are known to cut a word step by step."""
    if not second.has_text(look):
        return {}
    own, other = look.trace.tokenizer, second.of(look).other
    found = {"own": own} if own.name == other.name else {"own": own, "other": other}
    return {name: one for name, one in found.items() if one.rule is not None}


def unasked(text: str) -> str:
    """The longest word; of one that nothing parts, as Chinese writes, the beginning."""
    word = max(text.split(), key=len, default="tokenization")
    return word[:40] if word.isascii() else word[:MOST_UNASKED]


def word(look: Look) -> Word | None:
    """None where no vocabulary is known to cut it."""
    known, asked = vocabularies(look), look.options.get
    if not known:
        return None
    tokenizer = known.get(asked("word_by", ""), next(iter(known.values())))
    typed = asked("word_typed") or unasked(second.text(look))
    try:
        found = look.once(lambda _: splitting.splits(tokenizer, typed), ("splits", tokenizer, typed))
    except TextError as error:
        return Word(tokenizer, (), 0, look.t.error(error))
    stretch = asked("word_stretch") or ""
    longest = max(range(len(found)), key=lambda n: len(found[n].word), default=0)
    chosen = int(stretch) if stretch.isdecimal() and int(stretch) < len(found) else longest
    return Word(tokenizer, found, chosen)


def _split(look: Look) -> tuple[Tokenizer, splitting.Split] | None:
    found = word(look)
    return (found.tokenizer, found.split) if found and found.splits else None


def title(look: Look) -> Iterator[Line]:
    if second.has_text(look):
        yield look.title("word")
        if word(look) is None:
            yield look.text("word_no_rule", name=literal(look.trace.tokenizer.name))


def box(look: Look) -> Field | None:
    if not vocabularies(look):
        return None
    label, help_ = look.words("word_typed"), look.words("word_typed_help")
    return Field("word_typed", label, help_, unasked(second.text(look)), LONGEST_WORD, ("word_stretch", "word_step"))


def choose_vocabulary(look: Look) -> Chooser | None:
    known = {name: one.name for name, one in vocabularies(look).items()}
    if not known:
        return None
    return Chooser("word_by", known, look.words("word_by"), asks=True, anew=("word_stretch", "word_step"))


def choose_stretch(look: Look) -> Chooser | None:
    found = word(look)
    if not found or len(found.splits) < 2:
        return None
    names = {str(n): make_visible(split.word) for n, split in enumerate(found.splits)}
    return Chooser("word_stretch", names, look.words("word_stretch"), "", str(found.chosen), True, anew=("word_step",))


def facts(tokenizer: Tokenizer, split: splitting.Split) -> dict[str, Any]:
    return {"word": literal(make_visible(split.word)), "name": literal(tokenizer.name), "n": len(split.ids)}


def finding(look: Look) -> Iterator[Line]:
    found = word(look)
    if found and found.error:
        yield Line(found.error, "notice")
    if found and found.splits:
        yield Line(look.words(f"word_title_{found.split.rule}", **facts(found.tokenizer, found.split)), "part")


def _step(split: splitting.Split) -> By:
    """How many joins are made: of more than there are, all."""
    made: By = by("word_step", np.minimum(np.arange(MOST_STEPS + 1), len(split.joins)))
    return made


def _joined(look: Look) -> tuple[Tokenizer, splitting.Split] | None:
    found = _split(look)
    return found if found and found[1].rule in ("byte_pairs", "pairs") else None


def choose_step(look: Look) -> Chooser | None:
    found = _joined(look)
    if not found or not found[1].joins:
        return None
    steps = range(len(found[1].joins) + 1)
    return Chooser("word_step", steps, look.words("word_step"), look.words("word_step_help"), is_scale=True)


def draw(look: Look) -> Scene | None:
    """The joins as a picture."""
    if not (found := _joined(look)):
        return None
    split = found[1]
    return merges.draw(look, "word", MergesView.joined(split.start, split.joins, 0), _step(split))


def tell(look: Look) -> Iterator[Line]:
    """At the chosen step every pair of neighbors with its rank; by other rules, the look-ups or the ways to cut."""
    if not (found := _split(look)):
        return
    tokenizer, split = found
    yield from {"longest": _longest, "unigram": _unigram}.get(split.rule, _joins)(look, tokenizer, split)


def result(look: Look) -> Iterator[Line]:
    if not (found := _split(look)):
        return
    tokenizer, split = found
    pieces = [f"{literal(token.label)} {token.id:,}" for token in tokenizer.tokens(split.ids)]
    yield Line(look.words("word_result", pieces=look.listed(pieces) or "–"))
    if not split.holds:
        yield look.text("word_differs", **facts(tokenizer, split))


def _joins(look: Look, tokenizer: Tokenizer, split: splitting.Split) -> Iterator[Line]:
    step, n = np.asarray(_step(split).values), len(split.joins)
    pairs = [split.pairs(k) for k in range(n + 1)]
    can = np.array([sum(pair.rank is not None for pair in each) for each in pairs])
    following = [each[join.at] for each, join in zip(pairs, split.joins, strict=False)]
    at = by("word_step", np.minimum(step, max(0, n - 1)))
    known = {
        **facts(tokenizer, split),
        "step": _step(split),
        "last": n,
        "pairs": by("word_step", np.array(list(map(len, pairs)))[step], "0"),
        "can": by("word_step", can[step], "0"),
        "left": Among([pair.left for pair in following] or [""], at, is_code=True),
        "right": Among([pair.right for pair in following] or [""], at, is_code=True),
        "rank": by("word_step", np.array([join.rank for join in split.joins] or [0])[at.values], "whole"),
    }
    yield look.claim(JOINS, can[step], "word_step", **known)
    yield Line(Among([_pairs(look, split, k) for k in range(n + 1)], by("word_step", step)))


def _pairs(look: Look, split: splitting.Split, step: int) -> str:
    """The pairs after so many joins, the lowest rank first; the one that is joined next is marked."""
    pairs = split.pairs(step)
    following = split.joins[step].at if step < len(split.joins) else -1
    rows = []
    for place, pair in sorted(enumerate(pairs), key=lambda one: (one[1].rank is None, one[1].rank or 0, one[0])):
        rank = look.words("word_no_join") if pair.rank is None else f"{pair.rank:,}"
        rows.append((f"{literal(pair.left)} + {literal(pair.right)}", f"**{rank}** ←" if place == following else rank))
    more = [("…", f"+{len(rows) - MOST_PAIRS}")] if len(rows) > MOST_PAIRS else []
    return table((look.words("word_pair"), look.words("word_rank")), rows[:MOST_PAIRS] + more) if rows else " "


def _longest(look: Look, tokenizer: Tokenizer, split: splitting.Split) -> Iterator[Line]:
    """Every look-up from the left: what was tried in vain, and what was found."""
    rows = []
    for taken in split.taken:
        vain = " ".join(literal(piece) for piece in taken.tried[:SHOWN_TRIES])
        more = f" … (+{len(taken.tried) - SHOWN_TRIES})" if len(taken.tried) > SHOWN_TRIES else ""
        id = "–" if taken.entry is None or tokenizer.rule is None else f"{tokenizer.rule.ids[taken.entry]:,}"
        entry = look.words("word_nothing") if taken.entry is None else f"**{literal(taken.entry)}**"
        rows.append((f"{vain or '–'}{more}", entry, id))
    yield Line(table([look.words(f"word_{name}") for name in ("tried", "found", "id")], rows, "llr"))
    lookups = sum(len(taken.tried) + (taken.entry is not None) for taken in split.taken)
    yield look.text("word_longest", lookups=lookups, **facts(tokenizer, split))


def _unigram(look: Look, tokenizer: Tokenizer, split: splitting.Split) -> Iterator[Line]:
    """The most probable ways to cut the word, with the sum of their scores."""
    rows = []
    for n, (way, share) in enumerate(zip(split.ways, splitting.shares(split.ways), strict=True)):
        pieces = " ".join(f"{literal(piece)} {written(score, '2')}" for piece, score in way.pieces)
        mark = "**" if n == 0 else ""
        rows.append((pieces, f"{mark}{written(way.total, '2')}{mark}", percent(share)))
    yield Line(table([look.words(f"word_{name}") for name in ("way", "total", "share")], rows, "lrr"))
    yield look.text("word_unigram", ways=len(split.ways), **facts(tokenizer, split))
