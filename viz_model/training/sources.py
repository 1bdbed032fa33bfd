"""The training texts: which files, how they become documents, and what is held out.

The files are not part of the project; short pieces of what is held out are, beside the models of which they show what
heads and neurons do (:mod:`viz_model.explain.sample`). Origin and licenses stand in ``sources.toml``, are copied
into the card of every model trained on them, and a folder given on the command line must hold the files under the
names used there.
"""

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from viz_model.tokenizers.tokenizer import END_OF_TEXT

HELD_OUT_EVERY = 50
"""Every fiftieth document, after a seeded shuffle, is validation text and never trained on."""


class CorpusError(ValueError):
    """A corpus that cannot be trained on. The message names the file or the language."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file of texts.

    Attributes:
        language: that the texts are in, or the kind of text that they are (``code``, ``sums``).
        per_line: every line is a document of its own.
        per_paragraph: so is what stands between two empty lines.
        column: of a table with tabs, the one (from 0) that is read.
    """

    file: str
    language: str
    per_line: bool
    title: str
    license: str
    per_paragraph: bool = False
    column: int | None = None

    @property
    def is_measured(self) -> bool:
        """Whether its held-out documents are among those that models are compared by.

        Isolated sentences are easier or harder than stories for reasons of their length, and would blur the figure.
        """
        return not self.per_line or self in MORE


@dataclass(frozen=True, kw_only=True)
class PairSource:
    """One file of sentences and their translations: English, a tab, the ``language``, perhaps more columns."""

    file: str
    language: str
    title: str
    license: str


@dataclass(frozen=True, kw_only=True)
class PictureSource:
    """One file of pictures as arrays: ``x_train``, ``y_train``, ``x_test``, ``y_test``; ink high on 0.

    ``labels`` are the classes, by number.
    """

    name: str
    file: str
    labels: tuple[str, ...]
    title: str
    license: str


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TEXTS = tuple(Source(**told) for told in _FILE["text"])
MORE = tuple(Source(**told) for told in _FILE["more"])
"""Texts of further languages and kinds: what routers are measured on (:mod:`viz_model.training.routing`)."""
PAIRS = tuple(PairSource(**told) for told in _FILE["pair"])
PICTURES = tuple(PictureSource(**{**told, "labels": tuple(told["labels"])}) for told in _FILE["picture"])
KINDS = tuple(dict.fromkeys(source.language for source in (*TEXTS, *MORE)))
"""Languages and kinds of text that routers are measured on, whatever they were trained on."""

Item = TypeVar("Item")


def split(items: Sequence[Item], seed: int) -> tuple[list[Item], list[Item]]:
    """Shuffle, then set every :data:`HELD_OUT_EVERY`-th item aside: (train, held out)."""
    shuffled = list(items)
    random.Random(seed).shuffle(shuffled)
    train = [item for n, item in enumerate(shuffled) if n % HELD_OUT_EVERY]
    return train, shuffled[::HELD_OUT_EVERY]


def documents(folder: Path, source: Source) -> list[str]:
    """The documents of one file, blank ones and repeated ones left out.

    Raises:
        CorpusError: the file is missing, or holds no text that could be both trained on and set aside.
    """
    text = _read(folder / source.file)
    parts = text.splitlines() if source.per_line else text.split("\n\n" if source.per_paragraph else END_OF_TEXT)
    if source.column is not None:
        parts = [row.split("\t")[source.column] for row in parts]
    # A document that stands there twice could otherwise be both trained on and held out.
    found = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    _check_amount(folder / source.file, len(found), "documents")
    return found


@dataclass(frozen=True)
class Pair:
    """An English sentence and all its translations into one language."""

    english: str
    translations: tuple[str, ...]


def pairs(folder: Path, source: PairSource) -> list[Pair]:
    """The sentences of one file, each once.

    A sentence with several translations stays one item, so that a split can never hold out a
    sentence that is also trained on.

    Raises:
        CorpusError: the file is missing or empty, or a line lacks one of the two sentences.
    """
    found: dict[str, dict[str, None]] = {}
    for number, line in enumerate(_read(folder / source.file).splitlines(), 1):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) < 2 or not all(columns[:2]):
            raise CorpusError(f"{folder / source.file}, line {number}: expected two sentences with a tab between them")
        found.setdefault(columns[0], {})[columns[1]] = None
    _check_amount(folder / source.file, len(found), "sentences")
    return [Pair(english, tuple(translations)) for english, translations in found.items()]


def _check_amount(path: Path, amount: int, what: str) -> None:
    if amount < 2:
        raise CorpusError(f"{path}: expected at least two {what}, one of them to be set aside, found {amount}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: byte {error.start} is not UTF-8") from None


def training_texts(folder: Path, seed: int) -> Iterator[str]:
    """Every training document of every source: what a vocabulary is learned on."""
    for text_source in TEXTS:
        yield from split(documents(folder, text_source), seed)[0]
    for pair_source in PAIRS:
        for pair in split(pairs(folder, pair_source), seed)[0]:
            yield from pair.translations
