"""Runs of a text with a token covered, which are kept."""

from __future__ import annotations

import viz_model as vm
from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.measures.covering import Covered, cover


@cached(size=runs.bytes_of)
def masked(run: runs.RunKey, position: int) -> vm.Trace:
    """The trace of a text in which the mask token stands at ``position``.

    Raises:
        ValueError: the model's vocabulary has no mask token.
    """
    lm, ids = runs.model(run.model), list(runs.trace(run).ids)
    if lm.tokenizer.mask_id is None:
        raise ValueError(f"{run.model}: its vocabulary has no mask token")
    ids[position] = lm.tokenizer.mask_id
    return lm.trace(ids=ids, edits=vm.edits.parse(run.edits))


@cached()
def covered(run: runs.RunKey, start: int, stop: int) -> Covered:
    """Each token from ``start`` to ``stop`` covered alone, of a model whose vocabulary has a mask token."""
    trace = runs.trace(run)
    assert trace.tokenizer.mask_id is not None
    return cover(trace, range(start, stop), trace.tokenizer.mask_id)
