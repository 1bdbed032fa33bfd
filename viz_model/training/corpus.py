"""The training text as token ids: tokenized once, kept in one file, memory-mapped."""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_model.tokenizers.tokenizer import ByteLevel
from viz_model.training.sources import MORE, PAIRS, TEXTS, CorpusError, Pair, documents, pairs, split

Ids = NDArray[np.uint16]


@dataclass(frozen=True)
class Documents:
    """Texts as one run of ids and the place where each begins.

    ``ids`` holds every document followed by end-of-text; document ``i`` is
    ``ids[starts[i] : starts[i + 1]]``, end-of-text included.
    """

    ids: Ids
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> Ids:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @classmethod
    def encode(cls, texts: Sequence[str], tokenizer: ByteLevel) -> Documents:
        """Tokenize ``texts``.

        Raises:
            CorpusError: the vocabulary has no end-of-text, or more ids than two bytes can hold.
        """
        end = tokenizer.end_of_text
        if end is None or tokenizer.n_vocab > 2**16:
            raise CorpusError(f"the vocabulary {tokenizer.name} cannot write a corpus: it needs an end of text")
        encoded = tokenizer.encoding.encode_ordinary_batch(list(texts))
        starts = np.cumsum([0, *(len(ids) + 1 for ids in encoded)], dtype=np.int64)
        ids = np.fromiter((id for ids in encoded for id in (*ids, end)), dtype=np.uint16, count=int(starts[-1]))
        return cls(ids, starts)

    @classmethod
    def joined(cls, parts: Sequence[Documents]) -> Documents:
        """The documents of all ``parts``, of which there is at least one."""
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.ids for part in parts]), np.cumsum([0, *lengths], dtype=np.int64))


def entropy(ids: NDArray[Any]) -> float:
    """Nats a token of whoever knows how often each of ``ids`` [N] occurs there, and nothing of their order."""
    counts = np.bincount(ids)
    shares = counts[counts > 0] / len(ids)
    return float(-(shares * np.log(shares)).sum())


SEEN = 8
"""Documents trained on that are sampled for each one held out: fewer differ too much from one another."""


@dataclass(frozen=True)
class Sample:
    """Documents of one source: all that are held out, and :data:`SEEN` times as many that are trained on."""

    source: str
    held_out: Documents
    seen: Documents


@dataclass(frozen=True)
class Split:
    """One language of a corpus: what is trained on, and what never is.

    ``samples`` are of the sources that the held-out documents come from, in their order.
    """

    train: Documents
    held_out: Documents
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Stories and sentences by language."""

    languages: Mapping[str, Split]
    tokenizer: ByteLevel

    @classmethod
    def prepare(
        cls, folder: Path, tokenizer: ByteLevel, seed: int, cache: Path, languages: Iterable[str] | None = None
    ) -> Corpus:
        """Tokenize the files of the ``languages`` once; later calls map what was kept.

        Held out are the documents of sources that are measured by, stories before isolated sentences.

        Args:
            languages: by default those of :data:`viz_model.training.sources.TEXTS`.

        Raises:
            CorpusError: a source is missing or empty.
        """
        found = {}
        for language in languages or dict.fromkeys(source.language for source in TEXTS):
            sources = [source for source in (*TEXTS, *MORE) if source.language == language]
            if not sources:
                raise CorpusError(f"{language}: there is no text of this language")
            stories = [source.file for source in sources if source.is_measured]
            store = _Store(cache, f"texts-{language}", tokenizer, seed, (folder / source.file for source in sources))
            if not store.is_complete():
                train: list[str] = []
                sampled: dict[str, Documents] = {}
                for source in sources:
                    kept, aside = split(documents(folder, source), seed)
                    train += kept
                    if source.file in stories:
                        sampled[_part(source.file, "held_out")] = Documents.encode(aside, tokenizer)
                        sampled[_part(source.file, "seen")] = Documents.encode(kept[: SEEN * len(aside)], tokenizer)
                random.Random(seed + 1).shuffle(train)
                store.write({"train": Documents.encode(train, tokenizer), **sampled})
            samples = tuple(
                Sample(file, store.read(_part(file, "held_out")), store.read(_part(file, "seen"))) for file in stories
            )
            held_out = Documents.joined([sample.held_out for sample in samples])
            found[language] = Split(store.read("train"), held_out, samples)
        return cls(found, tokenizer)

    @classmethod
    def of_texts(cls, texts: Sequence[str], tokenizer: ByteLevel, *, language: str = "text", seed: int = 0) -> Corpus:
        """A small corpus in memory, of texts at hand; of a single text the last tenth is held out.

        Raises:
            CorpusError: there is no text, or it is a single token.
        """
        found = [text for text in texts if text.strip()]
        if not found:
            raise CorpusError("the text is empty: there is nothing to train on")
        if len(found) >= 10:
            shuffled = random.Random(seed).sample(found, len(found))
            n_held_out = max(1, len(found) // 10)
            return cls(
                {
                    language: Split(
                        Documents.encode(shuffled[n_held_out:], tokenizer),
                        Documents.encode(shuffled[:n_held_out], tokenizer),
                    )
                },
                tokenizer,
            )
        whole = Documents.encode(found, tokenizer).ids
        n_train = len(whole) - max(2, len(whole) // 10)
        if n_train < 2:
            raise CorpusError(f"the text is {len(whole) - 1} tokens long: that is too little to train on")
        parts = (whole[:n_train], whole[n_train:])
        train, held_out = (Documents(ids, np.array([0, len(ids)])) for ids in parts)
        return cls({language: Split(train, held_out)}, tokenizer)


@dataclass(frozen=True)
class PairSplit:
    """English and one other language: sentence i of one side translates sentence i of the other.

    ``held_out_pairs`` are the same sentences as text, each with all its translations.
    """

    train: tuple[Documents, Documents]
    held_out: tuple[Documents, Documents]
    held_out_pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class PairCorpus:
    """Sentences and their translations, by the language translated into."""

    languages: Mapping[str, PairSplit]
    tokenizer: ByteLevel

    @classmethod
    def prepare(cls, folder: Path, tokenizer: ByteLevel, seed: int, cache: Path) -> PairCorpus:
        """Tokenize the files of :data:`viz_model.training.sources.PAIRS` once; later calls map what was kept.

        A sentence with several translations is trained on once with each; held out, its first
        translation is the one that loss is measured on.

        Raises:
            CorpusError: a source is missing or damaged.
        """
        languages = {}
        for source in PAIRS:
            kept, aside = split(pairs(folder, source), seed)
            store = _Store(cache, f"pairs-{source.language}", tokenizer, seed, [folder / source.file])
            if not store.is_complete():
                flat = [(pair.english, other) for pair in kept for other in pair.translations]
                store.write(
                    {
                        "train_en": Documents.encode([english for english, _ in flat], tokenizer),
                        "train_other": Documents.encode([other for _, other in flat], tokenizer),
                        "held_out_en": Documents.encode([pair.english for pair in aside], tokenizer),
                        "held_out_other": Documents.encode([pair.translations[0] for pair in aside], tokenizer),
                    }
                )
            languages[source.language] = PairSplit(
                train=(store.read("train_en"), store.read("train_other")),
                held_out=(store.read("held_out_en"), store.read("held_out_other")),
                held_out_pairs=tuple(aside),
            )
        return cls(languages, tokenizer)


def _part(file: str, of: str) -> str:
    return f"{Path(file).stem}.{of}"


class _Store:
    """Documents on disk. The name of the folder tells vocabulary, seed and files, so that none can be mistaken."""

    LAYOUT = 3
    """Counts the ways in which parts were cut and named: a folder of another layout is not read."""

    def __init__(self, cache: Path, name: str, tokenizer: ByteLevel, seed: int, files: Iterable[Path]) -> None:
        ranks = sorted(tokenizer.encoding._mergeable_ranks.items())
        digest = hashlib.sha256(repr((self.LAYOUT, seed, ranks)).encode())
        for file in files:
            if not file.is_file():
                raise CorpusError(f"{file}: no such file")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        self.folder = cache / f"{name}-{digest.hexdigest()[:12]}"

    def is_complete(self) -> bool:
        return self.folder.is_dir()

    def write(self, parts: Mapping[str, Documents]) -> None:
        """Everything or nothing. Processes of one run may all come here: the first to finish is kept."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent, prefix="partial-") as partial:
            whole = Path(partial) / "whole"
            whole.mkdir()
            for name, documents_ in parts.items():
                np.save(whole / f"{name}.ids.npy", documents_.ids)
                np.save(whole / f"{name}.starts.npy", documents_.starts)
            try:
                whole.replace(self.folder)
            except OSError:
                if not self.is_complete():
                    raise

    def read(self, name: str) -> Documents:
        ids, starts = (np.load(self.folder / f"{name}.{part}.npy", mmap_mode="r") for part in ("ids", "starts"))
        return Documents(ids, starts)
