"""The texts of a corpus: out of files, and into batches of about equal length."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from viz_model.config import ModelConfig
from viz_model.tokenizers.tokenizer import END_OF_TEXT
from viz_model.training.sources import CorpusError

MOST_CELLS = 2**23
"""Numbers in the patterns of one layer for one batch, 32 MB; what keeps long texts from filling the memory."""


class Item(NamedTuple):
    """A text in tokens, and its number in the corpus."""

    number: int
    ids: Sequence[int]


def texts_of(place: Path, *, per_line: bool = False) -> Iterator[str]:
    """The texts of a file, or of all ``*.txt`` in a folder and its folders, in the order of their names.

    A file is one text, or several with ``<|endoftext|>`` between them; with ``per_line`` every line is
    one. Blank ones are left out.

    Raises:
        CorpusError: there is no such place, no text file in it, or a file that is not UTF-8.
    """
    files = [place] if place.is_file() else sorted(place.rglob("*.txt"))
    if not files:
        raise CorpusError(f"{place}: no such file, and no folder with .txt files")
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(f"{file}: byte {error.start} is not UTF-8") from None
        parts = text.splitlines() if per_line else text.split(END_OF_TEXT)
        yield from (part.strip() for part in parts if part.strip())


def packed(items: Sequence[Item], config: ModelConfig, most_tokens: int) -> Iterator[list[Item]]:
    """Batches of items of about equal length, so that little of them is padding.

    A batch, padded, has at most ``most_tokens`` positions and :data:`MOST_CELLS` cells of patterns,
    or is a single text. An encoder with windows gets texts of one length: far out in the padding a
    query would see none but padding, and a softmax over nothing is undefined.
    """
    is_even = config.sides[0] == "encoder" and any(config.window("encoder", n) for n in range(config.depth("encoder")))
    batch: list[Item] = []
    for item in sorted(items, key=lambda item: len(item.ids)):
        rows, length = len(batch) + 1, len(item.ids)
        too_large = rows * length > most_tokens or rows * config.n_heads * length**2 > MOST_CELLS
        if batch and (too_large or (is_even and length > len(batch[0].ids))):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
