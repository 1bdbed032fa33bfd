"""The classic bugs: each step as two short functions, one of them wrong, and what the wrong one does to a run.

>>> bug = BUGS["causal"]
>>> sources(bug, place)  # what visitors read: the very lines that are run
>>> outcome(bug, place).effect

A bug is computed where a run has what it needs: its own tensors go through both functions, and then the
whole model runs with the wrong one in every place where it belongs. The model that is loaded is never
changed: a copy shares its weights (:mod:`viz_model.topics.mistakes.numbers.swaps`).
"""

from collections.abc import Mapping
from types import MappingProxyType

from viz_model.topics.mistakes.numbers import attention, block, inputs, output
from viz_model.topics.mistakes.numbers.bug import Bug, Place
from viz_model.topics.mistakes.numbers.outcome import given, outcome, promise, sources

__all__ = ["BUGS", "Bug", "Place", "given", "outcome", "promise", "sources"]

BUGS: Mapping[str, Bug] = MappingProxyType(
    {bug.name: bug for bug in (*attention.BUGS, *inputs.BUGS, *block.BUGS, *output.BUGS)}
)
"""Every bug by name, in the order in which they are shown."""
