"""The batch that the visitor makes, as it ran: what all parts of the page are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.texts.markdown import literal, quoting
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.batch.choices import BESIDE, SIZE, TEXTS
from viz_model.topics.batch.numbers import run as numbers
from viz_model.topics.batch.numbers.run import Row, Together


@cached(size=lambda row: runs.bytes_of(row.run))
def row_of(key: runs.RunKey) -> Row:
    """A sentence alone, cut to what a row of the batch holds."""
    return numbers.row(runs.model(key.model), key.text, key.target, key.to)


@cached()
def _together(keys: tuple[runs.RunKey, ...]) -> Together:
    return numbers.together(runs.model(keys[0].model).model, [row_of(key) for key in keys])


@dataclass(frozen=True)
class Batched:
    """The batch of the open page.

    Attributes:
        texts: of the rows after the first, whether in the batch or not.
        keys: of the sentences in the batch, the page's own first.
        refused: what the model says of texts that it cannot read; the page's own sentences stand in for them.
    """

    page: Page
    texts: tuple[str, ...]
    keys: tuple[runs.RunKey, ...]
    refused: tuple[str, ...]

    @classmethod
    def of(cls, page: Page) -> Batched:
        texts, refused = [], []
        for usual, choice in zip(usual_texts(page, BESIDE), TEXTS, strict=True):
            text, _ = runs.readable(page.chosen(choice))
            try:
                page.lm.tokenizer.encode(text)
            except ValueError as error:
                refused.append(quoting(error))
                text = ""
            texts.append(text if text.strip() else usual)
        keys = [page.run_key.plain, *(key_of(page, text) for text in texts[: page.chosen(SIZE) - 1])]
        return cls(page, tuple(texts), tuple(keys), tuple(refused))

    @property
    def rows(self) -> list[Row]:
        return [row_of(key) for key in self.keys]

    @property
    def run(self) -> Together:
        return _together(self.keys)

    @property
    def names(self) -> tuple[str, ...]:
        """What the rows are called in pictures."""
        return tuple(self.page.words("row", n=n) for n in range(len(self.keys)))

    @property
    def token(self) -> int:
        """The position of the first sentence that is looked at."""
        return min(self.page.token, len(self.rows[0].ids(self.page.trace.stack.side)) - 1)

    @property
    def token_name(self) -> str:
        ids = self.rows[0].ids(self.page.trace.stack.side)
        return literal(self.page.lm.tokenizer.token(ids[self.token]).label)

    def labels(self, ids: np.ndarray, padding: np.ndarray) -> list[list[str]]:
        """The tokens of a table [B, T], without its padding."""
        tokens = self.page.lm.tokenizer
        rows = zip(ids.tolist(), padding, strict=True)
        return [[token.label for token in tokens.tokens(line[: int((~empty).sum())])] for line, empty in rows]


def key_of(page: Page, text: str) -> runs.RunKey:
    """A sentence beside the page's own; of an encoder–decoder with what the model says to it."""
    to = page.run_key.to
    target = runs.greedy_target(page.view.model, text, to) if page.lm.config.kind == "encoder_decoder" else None
    return runs.RunKey(page.view.model, text, target, to)


def usual_texts(page: Page, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences that nobody has written; of a model without words lists of ids, as long as their words."""
    tokenizer = page.lm.tokenizer
    if not isinstance(tokenizer, IdTokenizer):
        return texts
    most = page.lm.config.n_vocab
    return tuple(tokenizer.decode([(3 * n + len(text)) % most for n in range(len(text.split()))]) for text in texts)


def sizes(letters: str, shape: tuple[int, ...]) -> str:
    """A shape for a picture: (B, T) = (4, 12)."""
    return f"({', '.join(letters)}) = ({', '.join(map(str, shape))})"
