"""Tokens: the text is cut into pieces, and each piece has a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.island.beats import Cells, Chapter, Guess, Mark, Text, Toy, ends
from viz_model.measures.patches import drawn, grid
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import spelled
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters.write import pieces
from viz_model.topics.walk.run import Run


def chapter(run: Run) -> Chapter:
    look, tokenizer, trace = run.look, run.trace.tokenizer, run.trace
    beats = [run.says("tokens_1"), run.says("tokens_2", n=f"{trace.config.n_vocab:,}")]
    split = next((n for n, token in enumerate(trace.tokens) if not token.is_whole), None)
    if split is not None and not trace.config.reads_pictures:
        last = next((n for n in range(split, len(trace)) if trace.tokens[n].is_whole), len(trace))
        bytes_ = b"".join(token.bytes for token in trace.tokens[split:last])
        character = bytes_.decode("utf-8", "ignore")[:1]
        if character:
            own = character.encode()
            said = spelled(own)
            parts = len(tokenizer.encode(character, special=False))
            beats.append(run.says("tokens_bytes", char=literal(character), bytes=said, n=len(own), k=parts))
    if tokenizer.is_lossless and not isinstance(tokenizer, IdTokenizer) and not trace.config.reads_pictures:
        word = look.words("tokens_word")
        cut = tokenizer.tokens(tokenizer.encode(word, special=False))
        most = max(4, len(cut) + 1)
        first = most - 3
        options = [str(n) for n in range(first if len(cut) > 3 else 1, most + 1)]
        guess = Guess(look.text("guess_tokens", word=word.strip()), options, options.index(str(len(cut))))
        named = look.listed(literal(one.label) for one in cut)
        beats.append(
            run.says(
                "tokens_rare" if len(cut) > 1 else "tokens_whole",
                guess=guess,
                word=word.strip(),
                k=len(cut),
                parts=named,
            )
        )
    data = pieces(run, splits=3 if split is not None else 99)
    mark = Toy(toy="pieces", width=(1, 0), height=layout.HEIGHT, data=data, label=look.words("pieces"))
    return Chapter("tokens", look.words("title_tokens"), beats, [mark], ("tokens", look.words("closer_tokens")))


def tokens(run: Run) -> Chapter:
    patches, look = run.trace.config.patches, run.look
    values: dict[str, Any] = {"n": patches.rows * patches.columns, "side": patches.patch}
    beats = [run.says("patches_1", "", **values), run.says("patches_2", "", **values)]
    return Chapter(
        "tokens", look.words("title_tokens"), beats, list(_cut(run)), ("tokens", look.words("closer_tokens"))
    )


def _pictures(run: Run) -> np.ndarray:
    """The ink or the light of the patches, from 0 to 1: [N, h, w]"""
    found = drawn(run.trace).astype(np.float32)
    return found.reshape(found.shape[:3])


def _cut(run: Run) -> Iterator[Mark]:
    """The patches in their places, close together before beat 1, then apart."""
    pictures = _pictures(run)
    lines, across = grid(run.trace.config)
    size = min(330 / lines, 500 / across)
    special = len(run) - len(pictures)
    for n, picture in enumerate(pictures):
        row, column = divmod(n, across)
        left = -(size + 12) * across / 2
        x = ends(2, (0, (0.5, left + 6 * across + size * column)), (1, (0.5, left + (size + 12) * column)))
        y = ends(2, (0, 40.0 + size * row), (1, 20.0 + (size + 12) * row))
        at = n + special
        yield Cells(
            values=picture,
            look="single",
            part="ink",
            x=x,
            y=y,
            width=size,
            height=size,
            act={"token": at},
            label=run.labels[at],
        )
        yield Text(text=str(n), x=x, y=20.0 + (size + 12) * row - 5, since=2, look="small")


def embeddings(run: Run) -> Chapter:
    look, d = run.look, run.trace.config.d_model
    beats = [run.says("patches_3", "", d=d), run.says("patches_4", "stream", d=d)]
    return Chapter(
        "embeddings",
        look.words("title_embeddings"),
        beats,
        list(_rows(run)),
        ("embedding", look.words("closer_embeddings")),
    )


def _rows(run: Run) -> Iterator[Mark]:
    pictures, values = _pictures(run), run.rows_in
    special, high, top = len(run) - len(pictures), layout.pitch(len(run.window), 40), layout.most(values) / 2
    yield from layout.rows(run, 40, high)
    for n, at in enumerate(run.window):
        y, when = 40 + high * n, layout.turn(n, len(run.window))
        if at >= special:
            yield Cells(
                values=pictures[at - special],
                look="single",
                part="ink",
                x=layout.NAMES + 6,
                y=y + 1,
                width=high - 3,
                height=high - 3,
            )
        yield layout.strip(
            values[at],
            layout.NAMES + 56,
            y + 4,
            (1, -layout.NAMES - 56),
            high - 8,
            top,
            since=1,
            part="stream",
            when=when,
        )
