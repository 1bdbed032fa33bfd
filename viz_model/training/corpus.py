"""The training text: which files, how they become documents, and what is held out.

The texts themselves are not part of the project. Their origin and licences stand in
:data:`SOURCES`, are copied into the card of every model trained on them, and a folder given on
the command line must hold the files under the names used here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from viz_model.tokenizer import END_OF_TEXT, ByteLevel

HELD_OUT_EVERY = 50
"""Every fiftieth document, after a seeded shuffle, is validation text and never trained on."""


class CorpusError(ValueError):
    """A corpus that cannot be trained on. The message names the file."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file of the corpus. ``per_line``: every line is a document of its own."""

    file: str
    language: str
    per_line: bool
    title: str
    licence: str


SOURCES = (
    Source(
        file="en/tinystories_subset.txt",
        language="en",
        per_line=False,
        title="TinyStories, a subset (Eldan & Li 2023)",
        licence="CDLA-Sharing-1.0",
    ),
    Source(
        file="en/storybooks_ccby.txt",
        language="en",
        per_line=False,
        title="children's books of the African Storybook and Pratham projects",
        licence="CC BY 4.0",
    ),
    Source(
        file="en/tatoeba_en.txt",
        language="en",
        per_line=True,
        title="English sentences of Tatoeba (tatoeba.org)",
        licence="CC BY 2.0 FR",
    ),
    Source(
        file="zh/cmrc2017_cft_children_stories.txt",
        language="zh",
        per_line=False,
        title="Chinese children's stories of CMRC 2017",
        licence="CC BY-SA 4.0",
    ),
    Source(
        file="zh/cmrc2019_stories.txt",
        language="zh",
        per_line=False,
        title="Chinese stories of CMRC 2019",
        licence="CC BY-SA 4.0",
    ),
    Source(
        file="zh/tatoeba_zh.txt",
        language="zh",
        per_line=True,
        title="Chinese sentences of Tatoeba (tatoeba.org)",
        licence="CC BY 2.0 FR",
    ),
    Source(
        file="zh/d2l_zh_prose.txt",
        language="zh",
        per_line=True,
        title="prose of the textbook Dive into Deep Learning, Chinese edition",
        licence="Apache-2.0",
    ),
    Source(
        file="zh/common_voice_zhCN.txt",
        language="zh",
        per_line=True,
        title="Chinese sentences of Common Voice",
        licence="CC0",
    ),
)


def documents(folder: Path, source: Source) -> list[str]:
    """The documents of one file, blank ones left out.

    Raises:
        CorpusError: the file is missing or holds no text.
    """
    path = folder / source.file
    if not path.is_file():
        raise CorpusError(f"{path}: no such file")
    text = path.read_text(encoding="utf-8")
    parts = text.splitlines() if source.per_line else text.split(END_OF_TEXT)
    found = [part.strip() for part in parts if part.strip()]
    if not found:
        raise CorpusError(f"{path}: holds no text")
    return found


def split(found: list[str], seed: int) -> tuple[list[str], list[str]]:
    """Shuffle, then set every :data:`HELD_OUT_EVERY`-th document aside: (train, held out)."""
    shuffled = list(found)
    random.Random(seed).shuffle(shuffled)
    held_out = shuffled[::HELD_OUT_EVERY]
    train = [text for n, text in enumerate(shuffled) if n % HELD_OUT_EVERY]
    return train, held_out


def training_texts(folder: Path, seed: int) -> Iterator[str]:
    """Every training document of every source: what a vocabulary is learnt on."""
    for source in SOURCES:
        yield from split(documents(folder, source), seed)[0]


@dataclass(frozen=True)
class HeldOut:
    """Validation text of one language. ``n_bytes`` counts the UTF-8 bytes that ``ids`` encode."""

    language: str
    ids: np.ndarray
    n_bytes: int


@dataclass(frozen=True)
class Corpus:
    """Token ids: one long training stream, memory-mapped, and a held-out stream a language.

    Documents stand in a shuffled order of all sources together, each followed by end-of-text.
    """

    train: np.ndarray
    held_out: tuple[HeldOut, ...]

    @classmethod
    def prepare(cls, folder: Path, tokenizer: ByteLevel, seed: int, cache: Path) -> Corpus:
        """Tokenise the sources once, into ``cache``; later calls map the file.

        Raises:
            CorpusError: a source is missing or empty.
        """
        train: list[str] = []
        held: dict[str, list[str]] = {}
        for source in SOURCES:
            kept, aside = split(documents(folder, source), seed)
            train += kept
            # Held-out stories only: isolated sentences are easier or harder for reasons of
            # their length, and would blur the figure that models are compared by.
            if not source.per_line:
                held.setdefault(source.language, []).extend(aside)
        random.Random(seed + 1).shuffle(train)

        path = cache / f"train-{tokenizer.name}-{seed}.npy"
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial.npy")
            np.save(partial, _encode(train, tokenizer))
            partial.replace(path)
        return cls(
            train=np.load(path, mmap_mode="r"),
            held_out=tuple(
                HeldOut(language, _encode(texts, tokenizer), sum(len(t.encode()) for t in texts))
                for language, texts in held.items()
            ),
        )


def _encode(texts: list[str], tokenizer: ByteLevel) -> np.ndarray:
    batches = tokenizer.encoding.encode_ordinary_batch(texts)
    end = tokenizer.end_of_text
    return np.fromiter((id for ids in batches for id in (*ids, end)), dtype=np.uint16)


def windows_of_step(n_tokens: int, window: int, per_step: int, step: int, seed: int) -> np.ndarray:
    """Start positions of the windows that ``step`` trains on: [per_step].

    Every epoch cuts the stream at another random offset and visits all its windows once, in a
    random order. The order is a function of (seed, step) alone, so that a resumed run sees what
    an uninterrupted one would have seen.

    Raises:
        CorpusError: the stream is shorter than one step's windows.
    """
    per_epoch = (n_tokens - window - 1) // window // per_step  # steps
    if per_epoch < 1:
        raise CorpusError(f"{n_tokens} tokens are too few for {per_step} windows of {window}")
    epoch, within = divmod(step, per_epoch)
    rng = np.random.default_rng((seed, epoch))
    offset = rng.integers(window)
    order = rng.permutation(per_epoch * per_step)
    return offset + window * order[within * per_step : (within + 1) * per_step]
