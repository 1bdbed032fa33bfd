"""Embeddings: a token's number selects a row of a learned table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from viz_model.island.beats import Cells, Chapter, Guess, Mark, Text, ends
from viz_model.tokenizers.text import TextError
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import Run

N, TOP, SAMPLE, AMONG = 3, 56, 40, 60
STRIP = (0.62, -layout.NAMES - 60)


def chapter(run: Run) -> Chapter:
    look, near = run.look, nearest(run)
    values: dict[str, Any] = {"word": run.named(), "d": run.trace.config.d_embedding}
    ids = near[0]
    for n, letter in enumerate("abc"):
        values[letter] = run.tokens(ids[:, n], "token", is_code=True)
    others = np.stack([ids[:, 0], near[2], near[3]], -1)
    order = np.argsort(others, -1)
    options = run.tokens(np.take_along_axis(others, order, -1), "token")
    is_word = run.trace.own_ids[look.token] not in run.trace.own_tokenizer.controls
    guess = Guess(look.text("guess_row", word=run.named()), options, run.by("token", order.argmin(-1)))
    beats = [
        run.says("embeddings_1", "stream matrix", **values),
        run.says("embeddings_2", "", guess if is_word else None, **values),
        run.says("embeddings_3", "stream", **values),
    ]
    title = look.words("title_embeddings")
    return Chapter("embeddings", title, beats, list(_marks(run, near)), ("embedding", look.words("closer_embeddings")))


def table(run: Run) -> torch.Tensor:
    """[V, D]"""
    return run.trace.model.embedding.weight.detach()


def nearest(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The three rows closest to each token's, by their cosine, that are other words; and two that are far from it:
    ids [T or 1, 3], cosines [T or 1, 3], ids [T or 1] twice.
    """
    weights, tokenizer, own = table(run), run.trace.tokenizer, run.trace.own_ids
    unit, words = torch.nn.functional.normalize(weights, dim=-1), torch.tensor(_words(run))

    def make(at: list[int]) -> np.ndarray:
        cosines = unit[[own[n] for n in at]] @ unit.T
        best = cosines.topk(min(AMONG, len(weights)), dim=-1)
        found = []
        for row, n in enumerate(at):
            names, seen = {_plain(tokenizer.token(own[n]).text)}, list[tuple[int, float]]()
            is_word = any(any(map(str.isalnum, name)) for name in names)
            for id, cosine in zip(best.indices[row].tolist(), best.values[row].tolist(), strict=True):
                token = tokenizer.token(id)
                if id not in tokenizer.controls and token.is_whole and _is_other(token.text, names, is_word):
                    seen.append((id, cosine))
                    names.add(_plain(token.text))
                if len(seen) == 3:
                    break
            seen += [(own[n], 1.0)] * (3 - len(seen))
            near = {id for id, _ in seen}
            others = [id for id in words.tolist() if id not in near and id != own[n]]
            far = [id for id in others if abs(float(cosines[row, id])) < 0.15]
            turn = 7 * n % max(1, len(far))
            far = [*dict.fromkeys((*far[turn:], *far[:turn], *others, *words.tolist())), *words.tolist()][:2]
            found.append([*(id for id, _ in seen), *(cosine for _, cosine in seen), *far])
        return np.array(found)

    made = run.each(make, len(own) * weights.numel())
    return made[:, :3].astype(int), made[:, 3:6], made[:, 6].astype(int), made[:, 7].astype(int)


def _is_other(text: str, names: set[str], is_word: bool) -> bool:
    return bool(text.strip()) and _plain(text) not in names and (not is_word or any(map(str.isalnum, text)))


def _plain(text: str) -> str:
    return text.strip().lower()


def _words(run: Run) -> list[int]:
    """Words that everybody knows, those of them that the vocabulary holds whole."""
    tokenizer, found = run.trace.tokenizer, list[int]()
    for word in run.look.words("far_words").split():
        try:
            ids = tokenizer.encode(word if run.look.t.language == "zh" else f" {word}", special=False)
        except TextError:  # a tokenizer may know ids alone
            break
        found += ids if len(ids) == 1 else []
    return found or [0, 1, 2]


def _marks(run: Run, near: tuple[np.ndarray, ...]) -> Iterator[Mark]:
    look, d, own = run.look, run.trace.config.d_embedding, run.trace.own_ids
    high = layout.pitch(len(run.window), TOP)
    weights = table(run)
    sample = weights[torch.linspace(0, len(weights) - 1, SAMPLE).long(), :: max(1, d // 48)].numpy()
    top = layout.most(weights[:400].numpy()) / 2
    yield Text(
        text=look.words("table", rows=f"{len(weights):,}", d=d),
        x=(1, 0),
        y=TOP - 16,
        anchor="end",
        until=2,
        part="matrix",
    )
    yield Cells(values=sample, x=(0.7, 0), y=TOP, width=(0.3, 0), height=300, top=top, until=2, part="matrix")
    yield Text(text=look.words("ids"), x=layout.NAMES, y=TOP - 16, until=2)
    for n, at in enumerate(run.window):
        y, when = TOP + high * n, layout.turn(n, len(run.window))
        yield Text(text=str(own[at]), x=layout.NAMES + 44, y=y + high / 2, anchor="end", until=2)
        row = 300 * own[at] / len(weights)
        x, up = ends(N, (0, (0.7, 0)), (1, (0.0, layout.NAMES + 56))), ends(N, (0, TOP + row), (1, y + 3))
        width = ends(N, (0, (0.3, 0)), (1, (0.62, -layout.NAMES - 60)), (3, (1.0, -layout.NAMES - 60)))
        tall = ends(N, (0, 3.0), (1, high - 6))
        strip = Cells(
            values=weights[own[at]].numpy(),
            x=x,
            y=up,
            width=width,
            height=tall,
            top=top,
            when=when,
            part="stream",
            since=0,
            until=2,
        )
        yield strip
        yield Cells(
            values=weights[own[at]].numpy(),
            x=(0, layout.NAMES),
            y=y + 3,
            width=(1, -layout.NAMES),
            height=high - 6,
            top=top,
            since=3,
            part="stream",
        )
    yield from layout.rows(run, TOP, high, until=2)
    # The selected row, and below it those closest to it.
    each = weights[[own[look.token]] if len(near[0]) == 1 else list(own)].numpy()
    strips = {"x": layout.NAMES + 20, "width": (1, -layout.NAMES - 90), "top": top, "since": 2, "until": 3}
    yield layout.name(run.label(range(len(run))), 50, since=2, until=3, look="bold")
    yield layout.strip(run.by("token", each[:, None]), y=36, height=28, part="stream", **strips)
    yield Text(text=look.words("cosine"), x=(1, -4), y=92, anchor="end", since=2, until=3)
    for n in range(3):
        y, when = 110 + 60 * n, layout.turn(n, 3)
        yield layout.name(run.tokens(near[0][:, n], "token"), y + 14, since=2, until=3, when=when)
        values = run.by("token", weights[near[0][:, n]].numpy()[:, None])
        yield layout.strip(values, y=ends(N, (0, 36), (2, y)), height=28, when=when, **strips)
        yield Text(
            text=run.by("token", near[1][:, n]),
            form="2",
            x=(1, -4),
            y=y + 14,
            anchor="end",
            since=2,
            until=3,
            when=when,
        )
