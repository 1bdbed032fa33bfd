"""Tokens: the text is cut into pieces, and each piece has a number. A picture is cut into patches."""

import numpy as np

from viz_model.island.beats import Beat, Chapter, ends
from viz_model.measures.patches import drawn, grid
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import spelled
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.walk.chapters.write import pieces
from viz_model.topics.walk.layout import NAMES, Marks, Pen, most, names, token_rows, toy
from viz_model.topics.walk.run import Run


def chapter(run: Run) -> Chapter:
    tokens, tokenizer, config = run.trace.tokens, run.trace.tokenizer, run.trace.config
    if run.trace.shows_patches:
        cut = config.patches
        said = [run.says("patches_1", n=cut.rows * cut.columns, side=cut.patch), run.says("patches_2")]
        return run.chapter("tokens", said, _cut(run), "tokens")
    beats = [run.says("tokens_1"), run.says("tokens_2", n=f"{config.n_vocab:,}")]
    split = next((n for n, token in enumerate(tokens) if not token.is_whole), None)
    if split is not None and not config.reads_pictures:
        last = next((n for n in range(split, len(tokens)) if tokens[n].is_whole), len(tokens))
        character = b"".join(token.bytes for token in tokens[split:last]).decode("utf-8", "ignore")[:1]
        if own := character.encode():
            parts = len(tokenizer.encode(character, special=False))
            beats.append(run.says("tokens_bytes", char=literal(character), bytes=spelled(own), n=len(own), k=parts))
    if tokenizer.is_lossless and not isinstance(tokenizer, IdTokenizer) and not config.reads_pictures:
        beats.append(_word(run))
    mark = toy("pieces", pieces(run, splits=99 if split is None else 3), run.look.words("pieces"))
    return run.chapter("tokens", beats, [mark], "tokens")


def _word(run: Run) -> Beat:
    """Into how many tokens a word is cut."""
    look, tokenizer = run.look, run.trace.tokenizer
    word = look.words("tokens_word")
    cut = tokenizer.tokens(tokenizer.encode(word, special=False))
    last = max(4, len(cut) + 1)
    options = [str(n) for n in range(last - 3 if len(cut) > 3 else 1, last + 1)]
    guess = run.asks("guess_tokens", options, options.index(str(len(cut))), word=word.strip())
    parts, key = look.listed(literal(one.label) for one in cut), "tokens_rare" if len(cut) > 1 else "tokens_whole"
    return run.says(key, "", guess, word=word.strip(), k=len(cut), parts=parts)


def _pictures(run: Run) -> np.ndarray:
    """The ink or the light of the patches, from 0 to 1: [N, h, w]"""
    found = drawn(run.trace).astype(np.float32)
    return found.reshape(found.shape[:3])


def _cut(run: Run) -> Marks:
    """The patches in their places, close together before beat 1, then apart."""
    pictures, (lines, across), pen = _pictures(run), grid(run.trace.config), Pen({"part": "ink"})
    size, special, gap = min(330 / lines, 500 / across), len(run) - len(pictures), 12
    left = -(size + gap) * across / 2
    for n, picture in enumerate(pictures):
        (row, column), at = divmod(n, across), n + special
        x = ends(2, (0, (0.5, left + gap / 2 * across + size * column)), (1, (0.5, left + (size + gap) * column)))
        y = 20.0 + (size + gap) * row
        moved = ends(2, (0, 40.0 + size * row), (1, y))
        yield pen.cells(picture, x, moved, size, size, look="single", act={"token": at}, label=run.labels[at])
        yield pen.text(str(n), x, y - 5, since=2, look="small", part="")


def embedded(run: Run) -> Marks:
    """The patches and their vectors, row by row."""
    pictures, values = _pictures(run), run.rows_in
    special, top = len(run) - len(pictures), most(values) / 2
    yield from names(run, 40)
    for at, row in token_rows(run, 40):
        if at >= special:
            side = row.high - 3
            yield row.cells(pictures[at - special], NAMES + 6, row.y + 1, side, side, look="single", part="ink")
        yield row.strip(values[at], NAMES + 56, (1, -NAMES - 56), top, since=1, part="stream")
