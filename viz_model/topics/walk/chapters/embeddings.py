"""Embeddings: a token's number selects a row of a learned table."""

import numpy as np
import torch

from viz_model.island.beats import Chapter, ends
from viz_model.tokenizers.text import TextError
from viz_model.topics.walk.chapters import tokens
from viz_model.topics.walk.layout import NAMES, WIDTH, Marks, Pen, most, names, token_rows
from viz_model.topics.walk.run import Run

N, TOP, SAMPLE, AMONG = 3, 56, 40, 60


def chapter(run: Run) -> Chapter:
    if run.trace.shows_patches:
        said = [run.says("patches_3"), run.says("patches_4", "stream", d=run.trace.config.d_model)]
        return run.chapter("embeddings", said, tokens.embedded(run), "embedding")
    (ids, cosines), word = nearest(run), run.named()
    others = ids[:, [0, 3, 4]]
    order = np.argsort(others, -1)
    options = run.tokens(np.take_along_axis(others, order, -1), "token")
    is_word = run.trace.own_ids[run.look.token] not in run.trace.own_tokenizer.controls
    guess = run.asks("guess_row", options, run.by("token", order.argmin(-1)), word=word)
    closest = {letter: run.tokens(ids[:, n], "token", is_code=True) for n, letter in enumerate("abc")}
    beats = [
        run.says("embeddings_1", "stream matrix", d=run.trace.config.d_embedding),
        run.says("embeddings_2", "", guess if is_word else None, word=word, **closest),
        run.says("embeddings_3", "stream", word=word),
    ]
    marks = [*_lookup(run), *names(run, TOP, Pen({"until": 2})), *_closest(run, ids, cosines)]
    return run.chapter("embeddings", beats, marks, "embedding")


def nearest(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Ids of three rows of other words closest to each token's, and of two far ones: [T or 1, 5]; and the cosines."""
    weights, tokenizer, own, words = run.table, run.trace.tokenizer, run.trace.own_ids, _words(run)
    unit = torch.nn.functional.normalize(weights, dim=-1)

    def make(at: list[int]) -> np.ndarray:
        found = []
        for n in at:
            cosines, name, near = unit @ unit[own[n]], tokenizer.token(own[n]).text, dict[str, int]()
            is_word = any(map(str.isalnum, name))
            for id in cosines.topk(min(AMONG, len(weights))).indices.tolist():
                token, text = tokenizer.token(id), tokenizer.token(id).text.strip()
                is_whole = id not in tokenizer.controls and token.is_whole and text
                if is_whole and any(map(str.isalnum, text)) >= is_word:
                    near.setdefault(text.lower(), id)
            near.pop(name.strip().lower(), None)
            three = [*near.values(), own[n], own[n], own[n]][:3]
            others = [id for id in words if id not in three and id != own[n]]
            far = [id for id in others if abs(float(cosines[id])) < 0.15]
            turn = 7 * n % max(1, len(far))
            far = [*dict.fromkeys((*far[turn:], *far[:turn], *others, *words)), *words][:2]
            found.append([*three, *far, *cosines[three].tolist()])
        return np.array(found)

    made = run.each(make, len(own) * weights.numel())
    return made[:, :5].astype(int), made[:, 5:]


def _words(run: Run) -> list[int]:
    """Words that everybody knows, those of them that the vocabulary holds whole."""
    tokenizer, found = run.trace.tokenizer, list[int]()
    for word in run.look.words("far_words").split():
        try:
            ids = tokenizer.encode(word if word[0] >= "\u2e80" else f" {word}", special=False)
        except TextError:  # a tokenizer may know ids alone
            break
        found += ids if len(ids) == 1 else []
    return found or [0, 1, 2]


def _lookup(run: Run) -> Marks:
    """The table, and the rows that the tokens' numbers select, which come out of it."""
    look, d, own, weights = run.look, run.trace.config.d_embedding, run.trace.own_ids, run.table
    sample = weights[torch.linspace(0, len(weights) - 1, SAMPLE).long(), :: max(1, d // 48)].numpy()
    pen, top = Pen({"until": 2}), most(weights[:400].numpy()) / 2
    yield pen.end(look.words("table", rows=f"{len(weights):,}", d=d), WIDTH, TOP - 16, part="matrix")
    yield pen.cells(sample, (0.7, 0), TOP, (0.3, 0), 300, top=top, part="matrix")
    yield pen.text(look.words("ids"), NAMES, TOP - 16)
    for at, row in token_rows(run, TOP, pen):
        values = weights[own[at]].numpy()
        yield row.end(str(own[at]), NAMES + 44)
        x, width = ends(N, (0, (0.7, 0)), (1, (0.0, NAMES + 56))), ends(N, (0, (0.3, 0)), (1, (0.62, -NAMES - 60)))
        y = ends(N, (0, TOP + 300 * own[at] / len(weights)), (1, row.y + 3))
        height = ends(N, (0, 3.0), (1, row.high - 6))
        yield row.cells(values, x, y, width, height, top=top, part="stream")
        yield row.strip(values, (0, NAMES), (1, -NAMES), top, since=3, until=99, part="stream")


def _closest(run: Run, ids: np.ndarray, cosines: np.ndarray) -> Marks:
    """The selected row, and below it those closest to it."""
    weights, own = run.table, run.trace.own_ids
    pen, top = Pen({"since": 2, "until": 3}), most(weights[:400].numpy()) / 2
    x, width = NAMES + 20, (1, -NAMES - 90)
    each = weights[[own[n] for n in run.held(ids)]].numpy()
    yield pen.name(run.label(), 50, look="bold")
    yield pen.cells(run.row(each), x, 36, width, 28, top=top, part="stream")
    yield pen.end(run.look.words("cosine"), y=92)
    for n, row in pen.rows(3, 110, 60):
        yield row.name(run.tokens(ids[:, n], "token"), row.y + 14)
        y = ends(N, (0, 36), (2, row.y))
        yield row.cells(run.row(weights[ids[:, n]].numpy()), x, y, width, 28, top=top)
        yield row.end(run.by("token", cosines[:, n]), y=row.y + 14, form="2")
