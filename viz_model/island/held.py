"""How much of a run the tables of a page hold: all of it, or of a long run what is around the selection."""

from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace

MOST_CELLS, MOST_WIDE = 120_000, 600_000
"""Weights of all heads of all layers up to which tables hold all layers, of a longer run the selected one; and up to
which tables do that have no more numbers than a few for each weight.
"""

MOST_TOKENS, BLOCK = 128, 64
"""Tokens of which tables hold all; of a longer text those of a block of so many, in which the selected one is."""


def asks_again(asked_about: set[int], token: int) -> bool:
    """Whether another token was asked about before: what is much of all tokens comes with the second one."""
    asked_about.add(token)
    return len(asked_about) > 1


def is_long(trace: Trace) -> bool:
    """Whether a run has too many weights for one table, or keeps few of its values."""
    return isinstance(trace.values, Recomputed) or _cells(trace) > MOST_CELLS


def one_layer(trace: Trace) -> bool:
    """Whether tables of a run hold one layer at a time: of a long one, and where layers do not make the same alike."""
    return is_long(trace) or not _alike(trace)


def is_rather_long(trace: Trace) -> bool:
    """Whether tables of a run hold one layer at a time, but all layers of what is little of each."""
    is_kept = not isinstance(trace.values, Recomputed)
    return is_kept and MOST_CELLS < _cells(trace) <= MOST_WIDE and _alike(trace)


def _cells(trace: Trace) -> int:
    return trace.n_layers * trace.config.n_heads * len(trace) ** 2


def _alike(trace: Trace) -> bool:
    """Whether all layers make the same values alike."""
    made: dict[str, set[str]] = {}
    for _, layer, part in (name.split(".", 2) for name in trace.sites if name.startswith("blocks.")):
        made.setdefault(layer, set()).add(part)
    schemes = {trace.config.layer(trace.stack.side, n)[1::3] for n in range(trace.n_layers)}  # position, mixer
    return len(schemes) == 1 and all(each == made["0"] for each in made.values())
