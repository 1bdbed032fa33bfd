"""A word of the visitor's own, taken apart as a tokenizer does it, step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

import viz_model as vm
from viz_model.app import elements, state
from viz_model.app.choices import Choice
from viz_model.app.page import Page
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import literal, row
from viz_model.tokenizers.text import make_visible
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.tokens.choices import BY, LONGEST_WORD, STEP, STRETCH, WORD
from viz_model.topics.tokens.claims import JOINS
from viz_model.topics.tokens.numbers import splitting
from viz_model.topics.tokens.pictures.merges import MergesView, draw_merges
from viz_model.topics.tokens.sections.beside import Beside

SHOWN_TRIES = 4
MOST_UNASKED = 3
"""Characters of a word that nobody has chosen, where nothing parts words."""
MOST_ROWS, TALL = 6, 230
"""Of the picture and of the table; of more rows each is so many pixels tall and scrolls by itself."""


def section(beside: Beside) -> None:
    page, words = beside.page, beside.page.words
    vocabularies = {"own": beside.own, "other": beside.other}
    if beside.own.name == beside.other.name:
        del vocabularies["other"]
    vocabularies = {name: one for name, one in vocabularies.items() if one.rule is not None}
    st.subheader(words("word"), anchor=False)
    if not vocabularies:
        elements.see(page, "word_no_rule", name=literal(beside.own.name))
        return
    longest = _unasked(beside.text)
    left, right = st.columns(2, gap="large", vertical_alignment="bottom")
    box = partial(left.text_input, placeholder=longest, max_chars=LONGEST_WORD, live=True)
    typed = elements.control(page, WORD, box, change=_afresh(page, WORD)) or longest
    with right:
        look: dict[str, Any] = {"format_func": lambda by: vocabularies[by].name, "help": None}
        by = elements.choose(page, BY, list(vocabularies), change=_afresh(page, BY), **look)
    tokenizer = vocabularies[by]
    try:
        found = splitting.splits(tokenizer, typed)
    except vm.TextError as error:
        st.info(page.t.error(error))
        return
    if found:
        _told(page, tokenizer, found[_stretch(page, found)])


def _unasked(text: str) -> str:
    """The longest word; of one that nothing parts, as Chinese writes, the beginning."""
    word = max(text.split(), key=len, default="tokenization")
    return word[:40] if word.isascii() else word[:MOST_UNASKED]


def _afresh(page: Page, choice: Choice[Any]) -> Any:
    """What changes with a choice: the word is cut from the beginning."""
    return lambda picked: state.choose(page.name, (choice, picked), (STRETCH, None), (STEP, 0))


def _stretch(page: Page, found: tuple[splitting.Split, ...]) -> int:
    """Which of the stretches that the text is cut into first is told of: unasked the longest."""
    if len(found) == 1:
        return 0
    labels = [literal(make_visible(split.word)) for split in found]
    longest = max(range(len(found)), key=lambda n: len(found[n].word))
    look: dict[str, Any] = {"format_func": labels.__getitem__, "help": None}

    def change(picked: int | None) -> dict[str, Any]:
        return state.choose(page.name, (STRETCH, picked), (STEP, 0))

    place = elements.choose(page, STRETCH, list(range(len(found))), longest, change=change, **look)
    return longest if place is None else place


def _told(page: Page, tokenizer: Tokenizer, split: splitting.Split) -> None:
    words = page.words
    facts = {"word": literal(make_visible(split.word)), "name": literal(tokenizer.name), "n": str(len(split.ids))}
    st.markdown(f"**{words(f'word_title_{split.rule}', **facts)}**")
    {"longest": _longest, "unigram": _unigram}.get(split.rule, _joins)(page, tokenizer, split, facts)
    pieces = [f"{literal(token.label)} {token.id:,}" for token in tokenizer.tokens(split.ids)]
    st.markdown(words("word_result", pieces=" · ".join(pieces) or "–"))
    if not split.holds:
        elements.see(page, "word_differs", **facts)


def _joins(page: Page, tokenizer: Tokenizer, split: splitting.Split, facts: dict[str, str]) -> None:
    """The joins as a picture, and at the chosen step every pair of neighbours with its rank."""
    words, n = page.words, len(split.joins)
    step = min(page.chosen(STEP), n)
    picture, see = elements.split()
    with picture:
        if n:
            elements.control(page, STEP, st.slider, 0, n, value=step)
        view = MergesView.joined(make_visible(split.word), split.start, split.joins, 0)
        named = {"start": words("word_start"), "step": words("step", n="{n}", rank="{rank}")}
        with st.container(height=TALL if n > MOST_ROWS else "content", border=False):
            elements.figure(page, draw_merges(view, named, now=step), "word", words("merges_alt"))
    with see:
        pairs = split.pairs(step)
        next_ = split.joins[step].at if step < n else -1
        can = [pair.rank for pair in pairs if pair.rank is not None]
        facts = {**facts, "step": str(step), "can": str(len(can)), "pairs": str(len(pairs)), "last": str(n)}
        if can:
            left, right = literal(pairs[next_].left), literal(pairs[next_].right)
            facts |= {"left": left, "right": right, "rank": f"{min(can):,}"}
        elements.say(page, JOINS, [pair.rank for pair in pairs], **facts)
        lines = [f"| {words('word_pair')} | {words('word_rank')} |", "|---|---:|"]
        by_rank = sorted(enumerate(pairs), key=lambda found: (found[1].rank is None, found[1].rank or 0, found[0]))
        for place, pair in by_rank:
            rank = words("word_no_join") if pair.rank is None else f"{pair.rank:,}"
            mark = ("**", " ←**") if place == next_ else ("", "")
            lines.append(row((f"{literal(pair.left)} + {literal(pair.right)}", f"{mark[0]}{rank}{mark[1]}")))
        if pairs:
            with st.container(height=TALL if len(pairs) > MOST_ROWS else "content", border=False):
                st.markdown("\n".join(lines))


def _longest(page: Page, tokenizer: Tokenizer, split: splitting.Split, facts: dict[str, str]) -> None:
    """Every look-up from the left: what was tried in vain, and what was found."""
    words = page.words
    heads = [words(f"word_{name}") for name in ("tried", "found", "id")]
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|"]
    for taken in split.taken:
        vain = " ".join(literal(piece) for piece in taken.tried[:SHOWN_TRIES])
        more = f" … (+{len(taken.tried) - SHOWN_TRIES})" if len(taken.tried) > SHOWN_TRIES else ""
        id = "–" if taken.entry is None or tokenizer.rule is None else f"{tokenizer.rule.ids[taken.entry]:,}"
        entry = words("word_nothing") if taken.entry is None else f"**{literal(taken.entry)}**"
        lines.append(row((f"{vain or '–'}{more}", entry, id)))
    st.markdown("\n".join(lines))
    lookups = sum(len(taken.tried) + (taken.entry is not None) for taken in split.taken)
    elements.see(page, "word_longest", lookups=str(lookups), **facts)


def _unigram(page: Page, tokenizer: Tokenizer, split: splitting.Split, facts: dict[str, str]) -> None:
    """The most probable ways to cut the word, with the sum of their scores."""
    words = page.words
    heads = [words(f"word_{name}") for name in ("way", "total", "share")]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---:|"]
    for n, (way, share) in enumerate(zip(split.ways, splitting.shares(split.ways), strict=True)):
        pieces = " ".join(f"{literal(piece)} {score:.2f}" for piece, score in way.pieces)
        mark = "**" if n == 0 else ""
        lines.append(row((pieces, f"{mark}{way.total:.2f}{mark}", percent(share))))
    st.markdown("\n".join(lines))
    elements.see(page, "word_unigram", ways=str(len(split.ways)), **facts)
