"""Runs of a text with a token covered, which are kept."""

from __future__ import annotations

import viz_model as vm
from viz_model.app import runs
from viz_model.app.cache import cached
from viz_model.measures.covering import covering


@cached(size=runs.bytes_of)
def masked(run: runs.RunKey, position: int) -> vm.Trace:
    """The trace of a text in which the mask token stands at ``position``, of a vocabulary that has one."""
    return covering(runs.trace(run), position)
