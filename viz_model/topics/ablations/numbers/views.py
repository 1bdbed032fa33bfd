"""What is drawn of a run beside the same run with a change."""

from __future__ import annotations

import numpy as np

from viz_model.runs.trace import Trace
from viz_model.topics.ablations.numbers import change
from viz_model.topics.ablations.pictures.guesses import GuessesView
from viz_model.topics.ablations.pictures.places import PlacesView
from viz_model.topics.ablations.pictures.written import WrittenView

SHOWN = 6
"""First guesses of each run that are shown; together at most twice as many."""


def guesses_view(before: Trace, after: Trace, position: int) -> GuessesView:
    """What both runs predict at a position of their logits.

    Raises:
        KeyError: the model predicts no tokens.
    """
    found = change.guesses(before, after, position)
    first = [np.argsort(-probs, kind="stable")[:SHOWN] for probs in (found.before, found.after)]
    ids = np.unique(np.concatenate(first))
    ids = ids[np.argsort(-found.before[ids], kind="stable")]
    return GuessesView(
        labels=tuple(token.label for token in before.tokenizer.tokens(ids.tolist())),
        before=found.before[ids],
        after=found.after[ids],
        position=found.position,
        best=(int(found.before[ids].argmax()), int(found.after[ids].argmax())),
        divergence=found.divergence,
        entropies=found.entropies,
    )


def places_view(before: Trace, after: Trace, token: int) -> PlacesView:
    """Divergence where this stack's positions have predictions of their own, else the turn."""
    found = change.vectors(before, after)
    predicts = "probs" in before
    return PlacesView(
        labels=tuple(token.label for token in before.tokens),
        values=change.divergences(before, after) if predicts else 1 - found.cosines,
        lengths=np.stack([found.before, found.after]),
        measure="divergence" if predicts else "turn",
        token=token,
        site="probs" if predicts else before.leaving,
    )


def written_view(before: Trace, after: Trace, layer: int, token: int) -> WrittenView:
    """What the heads of a layer write at a position."""
    site = before.full_name(f"blocks.{layer}.attn.head_out")
    return WrittenView(change.written(before, layer, token), change.written(after, layer, token), site)
