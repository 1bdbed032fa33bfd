"""mBART (Liu et al. 2020): BART with its norms before the sub-layers, and one more at the end of each stack.

The trap: the embedding is normalised nevertheless, so that the stream is normalised at both ends.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import bart
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename
from viz_model.config import ModelConfig

NAMES = bart.NAMES


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    return bart.read(attributes, norm_at="pre")


def renames(config: ModelConfig) -> list[Rename]:
    """BART's table."""
    return bart.renames(config)
