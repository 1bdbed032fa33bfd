"""A run once more, with something in it changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from torch import Tensor

from viz_model.runs.edits import Edit
from viz_model.runs.record import record
from viz_model.runs.trace import Trace


def rerun(plain: Trace, edits: Sequence[Edit], vectors: Mapping[Edit, Tensor] | None = None) -> Trace:
    """A plain run again with edits, seen from the same stack; ``vectors`` are those that patches put in.

    Raises:
        ValueError: the run has edits itself, or an edit names a place that is not there.
    """
    if plain.edits or plain.visible:
        raise ValueError("edits: an experiment starts from a run as the model makes it")
    run = record(
        plain.model,
        plain.tokenizer,
        plain.ids,
        plain.target_ids,
        picture=None if plain.picture is None else plain.picture.numpy(),
        segments=plain.segments,
        edits=edits,
        vectors=vectors,
        text=plain.text,
        target=plain.target,
    )
    return dataclasses.replace(run, side=plain.side)
