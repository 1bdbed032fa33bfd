"""What a step reads and what it is asked: one form of batch for all objectives.

Every batch is a function of (seed, step) alone. A resumed run therefore sees what an uninterrupted
one would have seen, and each process of a distributed run knows the batch it takes its part of.
"""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_model.tokenizers.tokenizer import ByteLevel, Tokenizer, story_tokenizer
from viz_model.training.corpus import Corpus, Documents, Ids, PairCorpus
from viz_model.training.recipe import MaskedToken, NextToken, Recipe, Translation
from viz_model.training.sources import KINDS, CorpusError, Pair

IGNORED = -100
"""In ``answers``: nothing is asked here. The number that PyTorch's cross-entropy leaves out."""

HELD_OUT_RATE = 0.15
"""Share of masked tokens in held-out text, whatever the rate in training: figures stay comparable."""


class Batch(NamedTuple):
    """Rows of one step.

    ids: [B, T] what the model reads (an encoder–decoder's encoder).
    target_ids: [B, Tq] what the decoder of an encoder–decoder reads.
    padding: [B, T] True where ``ids`` are padding.
    answers: [B, T or Tq] the token to predict at each position, :data:`IGNORED` where none is; or [B] the class of
        each picture.
    pixels: [B, H, W, C] levels from 0 to 255, of pictures; ``ids`` are then their patches.
    """

    ids: Tensor
    answers: Tensor
    target_ids: Tensor | None = None
    padding: Tensor | None = None
    pixels: Tensor | None = None

    @property
    def n_asked(self) -> int:
        """How many answers there are."""
        return int((self.answers != IGNORED).sum())

    def part(self, index: int, of: int) -> Batch:
        """Every ``of``-th row from ``index`` on: parts are disjoint and together the batch."""
        return Batch(*(None if rows is None else rows[index::of] for rows in self))  # type: ignore[arg-type]

    def to(self, device: torch.device) -> Batch:
        return Batch(*(None if rows is None else rows.to(device) for rows in self))  # type: ignore[arg-type]


class Batches(ABC):
    """The data of a run.

    Attributes:
        tokenizer: that its ids are of.
        languages: that held-out text is there in.
    """

    tokenizer: Tokenizer
    languages: tuple[str, ...]

    @abstractmethod
    def step(self, step: int) -> Batch:
        """What step ``step`` (from 0) trains on."""

    @abstractmethod
    def held_out(self, language: str) -> Iterator[Batch]:
        """All held-out text of a language, in batches; the same ones whenever it is called."""

    def samples(self, language: str) -> Iterator[Sampled]:
        """The held-out text of a language by its sources.

        Empty where a language has a single source, and where too few tokens of one are asked for to be compared.
        """
        return iter(())


class Sampled(NamedTuple):
    """One source in batches: its held-out documents, and a sample of those that are trained on."""

    source: str
    held_out: Iterator[Batch]
    seen: Iterator[Batch]


class Windows(Batches):
    """Packed text in windows of equal length, for a decoder: every position predicts the next token.

    Raises:
        CorpusError: a language has too few tokens for one step, or no held-out text.
    """

    tokenizer: ByteLevel

    def __init__(self, corpus: Corpus, objective: NextToken, window: int, seed: int) -> None:
        self.tokenizer, self.languages = corpus.tokenizer, tuple(objective.rows)
        self._corpus, self._rows, self._window, self._seed = corpus, objective.rows, window, seed
        for language, rows in objective.rows.items():
            if language not in corpus.languages:
                raise CorpusError(f"{language}: the corpus has no text of this language")
            n_tokens = len(corpus.languages[language].train.ids)
            if self._steps_of_epoch(n_tokens, rows) < 1:
                raise CorpusError(f"{language}: {n_tokens} tokens are too few for {rows} windows of {window}")
            if len(corpus.languages[language].held_out.ids) < 2:
                raise CorpusError(f"{language}: the corpus has no held-out text")

    def step(self, step: int) -> Batch:
        found = []
        for language, rows in self._rows.items():
            ids = self._corpus.languages[language].train.ids
            for start in self._starts(len(ids), rows, step):
                found.append(ids[start : start + self._window + 1])
        return _shifted(np.stack(found))

    def _steps_of_epoch(self, n_tokens: int, rows: int) -> int:
        return (n_tokens - self._window - 1) // self._window // rows

    def _starts(self, n_tokens: int, rows: int, step: int) -> NDArray[np.int64]:
        """Where the windows of ``step`` begin: [rows].

        Every epoch cuts the stream at another random offset and visits all its windows once, in
        a random order.
        """
        per_epoch = self._steps_of_epoch(n_tokens, rows)
        epoch, within = divmod(step, per_epoch)
        rng = np.random.default_rng((self._seed, epoch))
        offset = rng.integers(self._window)
        order: NDArray[np.int64] = rng.permutation(per_epoch * rows)
        return offset + self._window * order[within * rows : (within + 1) * rows]

    def held_out(self, language: str) -> Iterator[Batch]:
        """Windows without overlap: the first tokens of each are predicted from little context."""
        return in_windows(self._corpus.languages[language].held_out.ids, self._window)

    def samples(self, language: str) -> Iterator[Sampled]:
        for sample in self._corpus.languages[language].samples:
            held_out, seen = (in_windows(part.ids, self._window) for part in (sample.held_out, sample.seen))
            yield Sampled(sample.source, held_out, seen)


def in_windows(ids: Ids, window: int) -> Iterator[Batch]:
    """The tokens [N] of a text in windows without overlap, 16 a batch; less than a window is one short window."""
    n_windows = (len(ids) - 1) // window
    if n_windows < 1:
        yield _shifted(ids[None])
    for first in range(0, n_windows, 16):
        starts = [window * n for n in range(first, min(first + 16, n_windows))]
        yield _shifted(np.stack([ids[start : start + window + 1] for start in starts]))


def _shifted(rows: Ids) -> Batch:
    ids = torch.from_numpy(rows.astype(np.int64))
    return Batch(ids=ids[:, :-1], answers=ids[:, 1:])


class Masked(Batches):
    """Documents with tokens hidden, for an encoder. Each stands between two end-of-texts, as at inference.

    Raises:
        CorpusError: there is no text.
    """

    tokenizer: ByteLevel

    def __init__(self, corpus: Corpus, objective: MaskedToken, longest: int, seed: int) -> None:
        self.tokenizer, self.languages = corpus.tokenizer, tuple(corpus.languages)
        if self.tokenizer.mask_id is None or self.tokenizer.end_of_text is None:
            raise CorpusError(f"the vocabulary {self.tokenizer.name} has no mask and end of text to train with")
        self._mask, self._end = self.tokenizer.mask_id, self.tokenizer.end_of_text
        if not any(len(split.train) for split in corpus.languages.values()):
            raise CorpusError("the corpus has no text")
        # All control tokens stand at the end of the vocabulary, the mask among them.
        self._controls = sorted({*self.tokenizer.controls, self._mask})
        self._corpus, self._rate, self._longest, self._seed = corpus, objective.rate, longest, seed
        self._documents = [(split.train, n) for split in corpus.languages.values() for n in range(len(split.train))]
        lengths = [split.train.lengths for split in corpus.languages.values()]
        # One more for the end-of-text in front.
        self._plan = _Plan(np.minimum(np.concatenate(lengths) + 1, longest)[None], objective.tokens, seed)

    def step(self, step: int) -> Batch:
        rng = np.random.default_rng((self._seed, 1, step))
        rows = [self._wrapped(*self._documents[int(item)], rng) for item in self._plan.step(step)]
        return self._hide(rows, self._rate, rng)

    def held_out(self, language: str) -> Iterator[Batch]:
        held_out = self._corpus.languages[language].held_out
        rng = np.random.default_rng((self._seed, 2))
        for first in range(0, len(held_out), 16):
            rows = range(first, min(first + 16, len(held_out)))
            yield self._hide([self._wrapped(held_out, n, rng) for n in rows], HELD_OUT_RATE, rng)

    def _wrapped(self, documents: Documents, n: int, rng: np.random.Generator) -> Ids:
        """One document between two end-of-texts; a long one from a random place on."""
        whole = np.concatenate(([self._end], documents[n])).astype(np.uint16)
        first = rng.integers(max(1, len(whole) - self._longest + 1))
        return whole[first : first + self._longest]

    def _hide(self, rows: Sequence[Ids], rate: float, rng: np.random.Generator) -> Batch:
        ids, padding = _padded(rows)
        controls = np.isin(ids, self._controls)
        asked = (rng.random(ids.shape) < rate) & ~controls & ~padding
        if not asked.any():
            asked.flat[np.flatnonzero(~controls & ~padding)[:1]] = True
        answers = np.where(asked, ids, IGNORED)
        fate = rng.random(ids.shape)
        other = rng.integers(self._controls[0], size=ids.shape)
        ids = np.where(asked & (fate < 0.8), self._mask, np.where(asked & (fate >= 0.9), other, ids))
        return Batch(torch.from_numpy(ids), torch.from_numpy(answers), padding=torch.from_numpy(padding))


class Translations(Batches):
    """Sentence pairs, for an encoder–decoder. The decoder begins with the tag of the language to say.

    Raises:
        CorpusError: a language has no pair that fits.
    """

    tokenizer: ByteLevel

    def __init__(self, corpus: PairCorpus, objective: Translation, longest: int, seed: int) -> None:
        self.tokenizer, self.languages = corpus.tokenizer, tuple(objective.repeats)
        self._corpus, self._longest = corpus, longest
        self._pairs: list[tuple[str, int]] = []
        lengths = []
        for language, repeats in objective.repeats.items():
            if language not in corpus.languages:
                raise CorpusError(f"{language}: the corpus has no pairs of this language")
            english, other = (side.lengths for side in corpus.languages[language].train)
            fitting = np.flatnonzero((english <= longest) & (other <= longest))
            if not len(fitting):
                raise CorpusError(f"{language}: no pair of at most {longest} tokens")
            self._pairs += [(language, int(n)) for n in fitting] * repeats
            lengths += [np.stack((english[fitting], other[fitting]))] * repeats
        self._plan = _Plan(np.concatenate(lengths, axis=1), objective.tokens, seed)

    def step(self, step: int) -> Batch:
        rows = []
        for language, n in (self._pairs[item] for item in self._plan.step(step)):
            english, other = self._corpus.languages[language].train
            rows.append((english[n], other[n], self.tokenizer.languages[language]))
        return self._batch(rows)

    def held_out_pairs(self, language: str) -> tuple[Pair, ...]:
        """The held-out sentences as text, with all their translations."""
        return self._corpus.languages[language].held_out_pairs

    def held_out(self, language: str) -> Iterator[Batch]:
        english, other = self._corpus.languages[language].held_out
        tag = self.tokenizer.languages[language]
        for first in range(0, len(english), 64):
            numbers = range(first, min(first + 64, len(english)))
            yield self._batch([(english[n][-self._longest :], other[n][: self._longest], tag) for n in numbers])

    def _batch(self, rows: Sequence[tuple[Ids, Ids, int]]) -> Batch:
        ids, padding = _padded([english for english, _, _ in rows])
        answers, beyond = _padded([other for _, other, _ in rows])
        tags = np.array([[tag] for _, _, tag in rows])
        return Batch(
            ids=torch.from_numpy(ids),
            answers=torch.from_numpy(np.where(beyond, IGNORED, answers)),
            target_ids=torch.from_numpy(np.concatenate((tags, answers[:, :-1]), axis=1)),
            padding=torch.from_numpy(padding),
        )


def _padded(rows: Sequence[Ids]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of unequal length as a table, filled up with id 0, and where it was filled: [B, T] each."""
    lengths = np.array([len(row) for row in rows])
    padding = np.arange(lengths.max()) >= lengths[:, None]
    table = np.zeros(padding.shape, dtype=np.int64)
    table[~padding] = np.concatenate(rows)
    return table, padding


@dataclass
class _Plan:
    """Which items each step reads, so that items of like length meet and little is padding.

    ``lengths`` is [sides, N]: of each item, or of both sentences of a pair. An epoch visits every
    item once: shuffled, sorted by length within pools, cut into batches of at most ``tokens``
    places (but one item at least), and the batches shuffled.
    """

    lengths: NDArray[np.int64]
    tokens: int
    seed: int

    POOL = 4096

    def __post_init__(self) -> None:
        self._first_steps = [0]  # of each epoch that was planned, and of the one after
        self._epoch: tuple[int, list[NDArray[np.int64]]] = (-1, [])

    def step(self, step: int) -> NDArray[np.int64]:
        while step >= self._first_steps[-1]:
            self._first_steps.append(self._first_steps[-1] + len(self._plan(len(self._first_steps) - 1)))
        epoch = bisect.bisect_right(self._first_steps, step) - 1
        return self._plan(epoch)[step - self._first_steps[epoch]]

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        if self._epoch[0] != epoch:
            rng = np.random.default_rng((self.seed, epoch))
            order: NDArray[np.int64] = rng.permutation(self.lengths.shape[1])
            batches: list[NDArray[np.int64]] = []
            for first in range(0, len(order), self.POOL):
                pool = order[first : first + self.POOL]
                # By the longest side, then the shortest.
                keys = np.sort(self.lengths[:, pool], axis=0)
                batches += self._cut(pool[np.lexsort(keys)])
            self._epoch = epoch, [batches[n] for n in rng.permutation(len(batches))]
        return self._epoch[1]

    def _cut(self, by_length: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        first, widest = 0, np.zeros(len(self.lengths), dtype=np.int64)
        for n, item in enumerate(by_length):
            widest = np.maximum(widest, self.lengths[:, item])
            if n > first and (n + 1 - first) * widest.sum() > self.tokens:
                yield by_length[first:n]
                first, widest = n, self.lengths[:, item]
        yield by_length[first:]


def build(recipe: Recipe, corpus: Corpus | PairCorpus) -> Batches:
    """The data of ``recipe``, from the corpus that its objective needs.

    Raises:
        CorpusError: the corpus is of the other kind, or too small.
    """
    longest = recipe.config.n_context
    match recipe.objective, corpus:
        case NextToken() as objective, Corpus():
            return Windows(corpus, objective, longest, recipe.seed)
        case MaskedToken() as objective, Corpus():
            return Masked(corpus, objective, longest, recipe.seed)
        case Translation() as objective, PairCorpus():
            return Translations(corpus, objective, longest, recipe.seed)
    raise CorpusError(f"{type(recipe.objective).__name__} does not train on a {type(corpus).__name__}")


def prepare(recipe: Recipe, folder: Path, cache: Path) -> Batches:
    """The data of ``recipe`` from the corpora in ``folder``, tokenized once into ``cache``.

    Raises:
        CorpusError: a file is missing or damaged.
    """
    kind = PairCorpus if isinstance(recipe.objective, Translation) else Corpus
    return build(recipe, kind.prepare(folder, story_tokenizer(recipe.config.kind), recipe.seed, cache))


def kinds(recipe: Recipe, folder: Path, cache: Path) -> Corpus | None:
    """Texts of all kinds that routers are measured on; None for a recipe without experts.

    Raises:
        CorpusError: a file is missing or damaged.
    """
    config = recipe.config
    if not config.has_experts:
        return None
    return Corpus.prepare(folder, story_tokenizer(config.kind), recipe.seed, cache, KINDS)
