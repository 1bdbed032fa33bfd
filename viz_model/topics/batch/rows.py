"""The sentences of the batch that the visitor makes, their ids as a rectangle, and the mask that says what is real."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field, Item, Typed
from viz_model.island.prose import Line
from viz_model.model.transformer import Transformer
from viz_model.runs.language_model import LanguageModel
from viz_model.texts.markdown import quoting
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer
from viz_model.topics.batch import run as running
from viz_model.topics.batch import tables
from viz_model.topics.batch.run import MOST_TOKENS, PADDING, Row, Together

MOST_CHARACTERS = 120
"""Of a sentence in the batch, apart from the one above the page."""
SIZES = ("4", "2", "3")
NAMES = ("second", "third", "fourth")
OPTIONS: tuple[tuple[str, tuple[str, ...] | Typed], ...] = (
    ("size", SIZES),
    *((name, Typed("", MOST_CHARACTERS)) for name in NAMES),
)
"""How many sentences, and which; "" is the page's own."""

BESIDE = ("The dog ran.", "Lily has a small red ball and a big blue kite.", "It was a dark night in the forest.")
"""The other sentences, where nobody has written any."""
OTHERS = (
    "Ben likes to eat apples and pears.",
    "Where is my hat?",
    "The sun was warm, and all the birds sang in the tall tree.",
)
"""Those that take their places, to see what neighbors change."""


@functools.lru_cache(maxsize=12)
def _row(model: Transformer, tokenizer: Tokenizer, text: str, target: str | None, to: str | None) -> Row:
    """A sentence alone; without a ``target`` an encoder–decoder says its own."""
    lm = LanguageModel(name="", model=model, tokenizer=tokenizer, twin=None, folder=Path())
    if target is None and lm.config.kind == "encoder_decoder":
        target = lm.generate(text, max_new_tokens=MOST_TOKENS, temperature=0, target_language=to).text
    return running.row(lm, text, target, to)


def row_of(look: Look, text: str, target: str | None = None) -> Row:
    """A sentence alone, cut to what a row of the batch holds."""
    trace = look.trace
    return _row(trace.model, trace.tokenizer, text, target, trace.target_language)


def usual_texts(look: Look, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences that nobody has written; of a model without words lists of ids, as long as their words."""
    tokenizer = look.trace.tokenizer
    if not isinstance(tokenizer, IdTokenizer):
        return texts
    most = look.config.n_vocab
    return tuple(tokenizer.decode([(3 * n + len(text)) % most for n in range(len(text.split()))]) for text in texts)


class Batched(NamedTuple):
    """The batch as it ran.

    Attributes:
        rows: of the sentences in the batch, the page's own first.
        beside: the rows after the first, whether in the batch or not.
        refused: what the model says of texts that it cannot read; the page's own sentences stand in for them.
    """

    rows: tuple[Row, ...]
    beside: tuple[Row, ...]
    refused: tuple[str, ...]
    run: Together


def size(look: Look) -> int:
    return int(look.options.get("size") or SIZES[0])


def batched(look: Look) -> Batched:
    typed = tuple(look.options.get(name) or "" for name in NAMES)
    return look.once(lambda look: _batched(look, typed, size(look)), ("batched", typed, size(look)))


def _batched(look: Look, typed: tuple[str, ...], size: int) -> Batched:
    texts, refused = [], []
    for usual, text in zip(usual_texts(look, BESIDE), typed, strict=True):
        try:
            look.trace.tokenizer.encode(text)
        except ValueError as error:
            refused.append(quoting(error))
            text = ""
        texts.append(text if text.strip() else usual)
    beside = tuple(row_of(look, text) for text in texts)
    trace = look.trace
    own = trace.tokenizer.decode(trace.ids) if trace.text is None else trace.text
    rows = (row_of(look, own, trace.target), *beside[: size - 1])
    return Batched(rows, beside, tuple(refused), running.together(look.trace.model, rows))


def names(look: Look) -> tuple[str, ...]:
    """What the rows are called in pictures."""
    return tuple(look.words("row", n=n) for n in range(len(batched(look).rows)))


def sizes(letters: str, shape: tuple[int, ...]) -> str:
    """A shape for a picture: (B, T) = (4, 12)."""
    return f"({', '.join(letters)}) = ({', '.join(map(str, shape))})"


def choose(look: Look) -> Chooser:
    options = {option: option for option in sorted(SIZES)}
    return Chooser("size", options, look.words("size"), look.words("size_help"), SIZES[0], asks=True)


def box(n: int) -> Item:
    """The box of row ``n``, while it is in the batch."""

    def made(look: Look) -> Field | None:
        hint = usual_texts(look, BESIDE)[n - 1]
        return Field(NAMES[n - 1], look.words("text", n=n), "", hint, MOST_CHARACTERS) if n < size(look) else None

    return made


def refused(look: Look) -> Iterator[Line]:
    for why in batched(look).refused:
        yield Line(look.words("refused", why=why), "notice")


def _draw(look: Look, name: str, ids: np.ndarray, padding: np.ndarray) -> Scene:
    shape, rows, tokens = sizes("BT", ids.shape), names(look), look.trace.tokenizer
    lengths = (~padding).sum(-1)
    labels = [
        [token.label for token in tokens.tokens(line[:n])]
        for line, n in zip(ids.tolist(), lengths.tolist(), strict=True)
    ]
    views = [tables.ids_view(look.words(name, shape=shape), rows, ids, padding, labels)]
    if name != "target":  # which only looks back, and needs no mask of its padding
        views.append(tables.mask_view(look.words("mask", shape=shape), rows, padding))
    alt = look.words(f"{name}_alt", rows=len(ids), columns=ids.shape[1])
    return look.drawn(tables.draw(look, f"batch.{name}", alt, views), own=False)


def draw(look: Look) -> Scene:
    """What the model reads first, of an encoder–decoder its source."""
    run = batched(look).run
    return _draw(look, "ids" if run.target_ids is None else "source", run.ids, run.padding)


def draw_target(look: Look) -> Scene | None:
    run = batched(look).run
    return None if run.target_ids is None else _draw(look, "target", run.target_ids, run.beyond)


def tell(look: Look) -> Iterator[Line]:
    rows, _, _, run = batched(look)
    n_rows, length = run.ids.shape
    facts: dict[str, Any] = {
        "rows": n_rows,
        "length": length,
        "n_real": int((~run.padding).sum()),
        "n_padding": int(run.padding.sum()),
        "n_places": n_rows * length,
        "share": f"{run.padding.mean():.0%}",
        "id": PADDING,
    }
    yield look.title("title" if run.padding.any() else "title_none", **facts)
    yield look.text("see" if run.padding.any() else "see_full", **facts)
    yield look.text(f"see_{look.config.kind}", **facts)
    if any(row.hidden is not None for row in rows):
        yield look.text("see_hidden")
    if cut := [n for n, row in enumerate(rows) if row.run.n_dropped]:
        yield look.note("cut", most=MOST_TOKENS, rows=look.listed(map(str, cut)))
