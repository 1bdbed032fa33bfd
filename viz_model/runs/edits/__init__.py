"""Interventions: values that say what to change in a run. The model itself is never touched.

>>> lm.trace("The cat sat", edits=[AblateHead(layer=1, head=3), NoScale()])

Edits hold together, in the order given: each finds what those before it have left. A mask that was
opened can be flipped, tokens that were shuffled are counted where they now stand, and of two edits
of one value the second reads what the first wrote. Values are changed where the run computes
them, so an edit of a later layer always sees the effect of an edit of an earlier one.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from torch import Tensor

from viz_model.config import Side
from viz_model.model.transformer import Transformer
from viz_model.runs.edits.address import EDITS, MOST_EDITS, parse, write
from viz_model.runs.edits.base import Edit, Run, ValueEdit, check_fitting
from viz_model.runs.edits.inputs import FlipMask, NoMask, ShuffleTokens
from viz_model.runs.edits.structure import (
    ExpertOff,
    ExpertOnly,
    NoNorm,
    NoPosition,
    NoResidual,
    NoScale,
    StructureEdit,
    rebuilt,
)
from viz_model.runs.edits.values import (
    LARGEST_ACTIVATION,
    AblateHead,
    Change,
    FixPattern,
    PatchResidual,
    SetNeuron,
    Skip,
)

__all__ = [
    "EDITS",
    "LARGEST_ACTIVATION",
    "MOST_EDITS",
    "AblateHead",
    "Change",
    "Edit",
    "ExpertOff",
    "ExpertOnly",
    "FixPattern",
    "FlipMask",
    "NoMask",
    "NoNorm",
    "NoPosition",
    "NoResidual",
    "NoScale",
    "PatchResidual",
    "Run",
    "SetNeuron",
    "ShuffleTokens",
    "Skip",
    "StructureEdit",
    "ValueEdit",
    "apply",
    "parse",
    "prepare",
    "rebuilt",
    "write",
]


def prepare(
    model: Transformer,
    ids: Mapping[Side, tuple[int, ...]],
    edits: Sequence[Edit],
    *,
    masks: Mapping[Side, Tensor] | None = None,
    controls: Mapping[Side, frozenset[int]] | None = None,
    vectors: Mapping[Edit, Tensor] | None = None,
) -> Run:
    """The plan of a run with all edits in it; the arguments are the attributes of :class:`Run`.

    Raises:
        ValueError: an edit names a place that does not exist, or empties a row of a mask. The
            message begins with the field.
    """
    run = Run(model=model, config=model.config, ids=ids, controls=controls or {}, vectors=vectors or {})
    run = dataclasses.replace(run, masks=masks or {})
    for edit in edits:
        run = edit.prepare(run)
    check_fitting(run)
    return run


def apply(changes: Mapping[str, Sequence[ValueEdit]], name: str, value: Tensor, seen: Mapping[str, Tensor]) -> Tensor:
    """The value of ``name`` after all changes that are planned for it."""
    for edit in changes.get(name, ()):
        value = edit.apply(value, name, seen)
    return value
