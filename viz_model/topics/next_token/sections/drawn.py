"""The tokens drawn after a text, which are kept while a visitor draws more of them."""

from __future__ import annotations

from collections.abc import Iterator

from viz_model.app import run_lock, runs
from viz_model.app.cache import cached
from viz_model.runs.generation import Decoder, Sampling, Step, steps
from viz_model.topics.next_token.choices import MOST_DRAWN
from viz_model.topics.next_token.numbers import kv_cache


class Drawing:
    """The tokens drawn so far after one text, what the cache held when each was drawn, and the run that draws on.

    ``nbytes`` is what its cache takes at the longest.
    """

    def __init__(self, decoder: Decoder, going: Iterator[Step], end: int | None, nbytes: int) -> None:
        self.nbytes = nbytes
        self._decoder = decoder
        self._going = going
        self._end = end
        self._steps: list[Step] = []
        self._held: list[kv_cache.Held] = []

    def first(self, count: int) -> tuple[Step, ...]:
        """The first ``count`` tokens, fewer where the model ends the text; its end is the last one."""
        while len(self._steps) < count and not (self._steps and self._steps[-1].token.id == self._end):
            run_lock.check()
            self._steps.append(next(self._going))
            self._held.append(kv_cache.held(self._decoder.cache))
        return tuple(self._steps[:count])

    def held(self, count: int) -> kv_cache.Held:
        """What the cache held when token ``count`` ≥ 1 was drawn."""
        return self._held[len(self.first(count)) - 1]


# Each keeps a KV cache, so that one more token costs one position.
@cached()
def _drawing(run: runs.RunKey, sampling: Sampling, seed: int) -> Drawing:
    lm, trace = runs.model(run.model), runs.trace(run)
    decoder = lm.decoder(trace.ids, run.target, run.to, edits=trace.edits)
    positions = len(trace.at(trace.config.sides[-1])) + MOST_DRAWN
    nbytes = kv_cache.bytes_of(lm.config, positions)
    return Drawing(decoder, steps(decoder, lm.tokenizer, sampling, seed), lm.tokenizer.end_of_text, nbytes)


def drawn(run: runs.RunKey, sampling: Sampling, seed: int, count: int) -> tuple[Step, ...]:
    """The first ``count`` tokens that continue the traced part of a text, fewer where the model ends it.

    Of an encoder–decoder, they continue its target. An end-of-text token is the last one.

    Raises:
        ValueError: an edit speaks of positions, and so means nothing for a text that grows.
    """
    drawing = _drawing(run, sampling, seed)
    with run_lock.RUNNING:
        return drawing.first(count)


def held(run: runs.RunKey, sampling: Sampling, seed: int, count: int) -> kv_cache.Held:
    """What the decoder's cache held when it drew token ``count`` of :func:`drawn`; with 0, of the text alone."""
    if not count:
        return _held_after(run)
    drawing = _drawing(run, sampling, seed)
    with run_lock.RUNNING:
        return drawing.held(count)


@cached()
def _held_after(run: runs.RunKey) -> kv_cache.Held:
    return kv_cache.held_after(runs.trace(run).at("decoder"))
