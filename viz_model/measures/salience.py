"""Which head tells most on a text: where to look when nobody has chosen."""

from collections.abc import Sequence

import numpy as np

from viz_model.measures import heads
from viz_model.runs.recompute import Recomputed
from viz_model.runs.trace import Trace

MOST_CELLS = 1_000_000
"""Weights that are held together: of a long text one head's at a time."""


def choosiness(patterns: np.ndarray, marks: tuple[int, ...] = (), is_cross: bool = False) -> np.ndarray:
    """Patterns […, Tq, Tk] -> how firmly each query of each reads one word that others do not: […], from 0 to 1.

    The mean, over queries that see such a word, of the largest lead that one has over the mean weight it gets from
    all queries. The first position, a query's own and control tokens (``marks``) are no such words: what rests on
    them often fetches nothing. In cross-attention, where the keys are another text, only control tokens are left out.
    """
    words = np.ones(patterns.shape[-2:], dtype=bool)
    words[:, list(marks)] = False
    if not is_cross:
        np.fill_diagonal(words, False)
        words[:, 0] = False
    lead = np.where(words, patterns - patterns.mean(-2, keepdims=True), 0.0).max(-1)
    choosing = ((patterns > 0) & words).any(-1)
    return np.where(choosing, lead, 0.0).sum(-1, dtype=np.float64) / choosing.sum(-1).clip(min=1)


def of_layer(trace: Trace, layer: int, part: str = "attn") -> tuple[float, ...]:
    """Of every head of a layer, 0 where it has no attention. ``part`` is "attn" or, where there is such, "cross"."""
    is_cross = part == "cross" and "blocks.0.cross.pattern" in trace
    part = "cross" if is_cross else "attn"
    source = trace.at("encoder") if is_cross else trace
    marks, site, n_heads = heads.marks(source), f"blocks.{layer}.{part}.pattern", trace.config.n_heads
    if site not in trace:
        return (0.0,) * n_heads
    if n_heads * len(trace) * len(source) <= MOST_CELLS:
        return tuple(choosiness(trace[site].numpy(), marks, is_cross).tolist())
    return tuple(float(choosiness(trace.head(site, head).numpy(), marks, is_cross)) for head in range(n_heads))


def layers(trace: Trace) -> Sequence[int]:
    """Those that are worth the search: all that attend, but of a run whose blocks are computed anew only the one in
    their middle. All layers of a model in which none attends.
    """
    found = trace.attending or range(trace.n_layers)
    return found[len(found) // 2 :][:1] if isinstance(trace.values, Recomputed) else found


def written(trace: Trace) -> list[int]:
    """The positions of tokens that stand for something in the text."""
    return [i for i, id in enumerate(trace.own_ids) if id not in trace.own_tokenizer.controls]


def token(trace: Trace) -> int:
    """The position to tell of: a mask that was typed, or else the last one of the text; of a picture the first."""
    if trace.shows_patches:
        return 0
    mask = trace.tokenizer.mask_id
    if mask in trace.own_ids:
        return trace.own_ids.index(mask)
    return written(trace)[-1] if written(trace) else len(trace) - 1


def place(trace: Trace, part: str = "attn") -> tuple[int, int]:
    """The layer and head that tell most; ``part`` as in :func:`of_layer`."""
    tells = {(n, head): much for n in layers(trace) for head, much in enumerate(of_layer(trace, n, part))}
    return max(tells, key=tells.__getitem__)
