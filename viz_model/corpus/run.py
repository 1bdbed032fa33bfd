"""The pass over a corpus: job after job, here or on other machines, and on again after an interruption."""

import contextlib
import dataclasses
import hashlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from viz_model.corpus import batch
from viz_model.corpus.statistics import Statistics, Survey, read, write
from viz_model.corpus.texts import Item, packed
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.training.sources import CorpusError

Text: TypeAlias = str | Sequence[int]
"""A text, or its token ids as the model is to read them."""

RANDOM_TOKENS, REPEATS, N_REPEATED = 25, 4, 64
"""Of the repeated random tokens: how many different ones, how often, in how many texts (Olsson et al. 2022)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a corpus is read. All but ``batch_tokens`` and ``job_texts`` change what is found.

    Attributes:
        top: how many texts are kept for each neuron.
        max_tokens: of each text, where that is less than the context; the rest is dropped.
        batch_tokens: of a batch, its padding included. On a CPU small batches are faster: their patterns
            stay in its cache. A GPU wants thousands.
        job_texts: consecutive texts that are sorted by length together; after each job the numbers so
            far are written down.
    """

    top: int = 8
    max_tokens: int | None = None
    batch_tokens: int = 512
    job_texts: int = 128


class Job(NamedTuple):
    """Consecutive texts of a corpus, the first of which has the number ``first``."""

    first: int
    texts: tuple[Text, ...]


Workers: TypeAlias = Callable[[Iterable[Job]], Iterator[Statistics]]
"""Makes jobs into their statistics, in the same order."""


def work(lm: LanguageModel, job: Job, settings: Settings) -> Statistics:
    """The statistics of one job: all that a worker does.

    Raises:
        CorpusError: a text that the vocabulary cannot write. The message has its number.
    """
    most = min(lm.config.n_context, settings.max_tokens or lm.config.n_context)
    items, n_dropped = [], 0
    for number, text in enumerate(job.texts, job.first):
        try:
            ids = (lm.tokenizer.encode(text) if text else []) if isinstance(text, str) else list(text)
        except TextError as error:
            raise CorpusError(f"text {number}: {error}") from None
        kept = lm.shortened(ids, most)
        n_dropped += len(ids) - len(kept)
        if kept:
            items.append(Item(number, kept))
    total = batch.none(lm.config, settings.top)
    for some in packed(items, lm.config, settings.batch_tokens):
        total = batch.added(total, lm.model, some)
    return dataclasses.replace(total, n_texts=len(job.texts), n_dropped=n_dropped)


def here(lm: LanguageModel, settings: Settings) -> Workers:
    """Work in this process."""
    return lambda jobs: (work(lm, job, settings) for job in jobs)


def measure(
    lm: LanguageModel,
    texts: Iterable[Text],
    settings: Settings = Settings(),
    *,
    partial: Path | None = None,
    workers: Workers | None = None,
    watch: Callable[[Statistics], object] = lambda so_far: None,
) -> Survey:
    """The statistics of ``texts``. Nothing of a text is held longer than its job.

    Args:
        partial: a file for the numbers so far. Where it stands already, of the same model, settings
            and texts, the pass goes on where it was interrupted, and finds what it would have found.
        workers: by default :func:`here`.
        watch: is told the numbers so far, at the start and after each job.

    Raises:
        CorpusError: a text that the vocabulary cannot write; ``partial`` is damaged or of another pass.
    """
    about = _about(lm, settings)
    total, texts = batch.none(lm.config, settings.top), iter(texts)
    digest = hashlib.sha256()
    if partial is not None and partial.exists():
        found = read(partial)
        total = found.natural
        for text in itertools.islice(texts, total.n_texts):
            _note(digest, text)
        about["read"] = digest.hexdigest()
        if found.about != about:
            raise CorpusError(f"{partial}: begun with another model, other settings or other texts; delete it")
    watch(total)
    read_by: deque[str] = deque()  # workers may be some jobs ahead

    def jobs() -> Iterator[Job]:
        first = total.n_texts
        while some := tuple(itertools.islice(texts, settings.job_texts)):
            for text in some:
                _note(digest, text)
            read_by.append(digest.hexdigest())
            yield Job(first, some)
            first += len(some)

    for result in (workers or here(lm, settings))(jobs()):
        total = total.merged(result)
        about["read"] = read_by.popleft()
        if partial is not None:
            write(partial, Survey(about=about, natural=total))
        watch(total)
    return Survey(about=about, natural=total)


def survey(lm: LanguageModel, texts: Iterable[Text], settings: Settings = Settings(), **how: Any) -> Survey:
    """:func:`measure`, and the heads once more on repeated random tokens."""
    natural = measure(lm, texts, settings, **how)
    random = repeated_texts(lm)
    if not random:
        return natural
    alone = dataclasses.replace(settings, top=0)
    return dataclasses.replace(natural, repeated=work(lm, Job(0, random), alone).heads)


def repeated_texts(lm: LanguageModel) -> tuple[tuple[int, ...], ...]:
    """Texts of random tokens said several times over, as token ids; none where the context is too short.

    25 different tokens, drawn evenly from all but the control tokens, four times over, between the
    control tokens that the model expects around a text (Olsson et al. 2022, "prefix matching
    score"). A short context has fewer tokens, said as often.
    """
    before, after = _around(lm.tokenizer)
    allowed = np.setdiff1d(np.arange(lm.config.n_vocab), [*lm.tokenizer.controls])
    different = min(RANDOM_TOKENS, (lm.config.n_context - len(before) - len(after)) // REPEATS, len(allowed))
    if different < 2:
        return ()
    rng = np.random.default_rng(0)
    drawn = (rng.choice(allowed, different, replace=False).tolist() for _ in range(N_REPEATED))
    return tuple((*before, *(ids * REPEATS), *after) for ids in drawn)


def _around(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The control tokens before and after a text."""
    with contextlib.suppress(TextError):
        whole, inner = (tokenizer.encode("1", special=special) for special in (True, False))
        for n in range(len(whole) - len(inner) + 1):
            if inner and whole[n : n + len(inner)] == inner:
                return whole[:n], whole[n + len(inner) :]
    return [], []


def _about(lm: LanguageModel, settings: Settings) -> dict[str, Any]:
    """What a survey was made with, in plain JSON values."""
    weights = hashlib.sha256()
    for name, value in sorted(lm.model.state_dict().items()):
        weights.update(name.encode())
        weights.update(value.cpu().contiguous().view(torch.uint8).numpy().data)
    return {
        "model": lm.name,
        "side": lm.config.sides[0],
        "config": lm.config.to_dict(),
        "weights": weights.hexdigest()[:16],
        "settings": dataclasses.asdict(settings),
        "read": hashlib.sha256().hexdigest(),
    }


def _note(digest: Any, text: Text) -> None:
    """Take a text into a digest; its length first, or ["ab", "c"] would be ["a", "bc"]."""
    plain = repr(text if isinstance(text, str) else list(text)).encode()
    digest.update(len(plain).to_bytes(8, "big") + plain)
