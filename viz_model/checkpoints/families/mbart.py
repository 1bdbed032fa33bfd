"""mBART (Liu et al. 2020): BART with its norms before the sub-layers, and one more at the end of each stack.

The trap: the embedding is normalized nevertheless, so that the stream is normalized at both ends.
"""

from __future__ import annotations

from viz_model.checkpoints.families import bart
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import ModelConfig

NAMES = bart.NAMES
renames = bart.renames


def config(a: Attributes) -> ModelConfig:
    return bart.read_learned(a, norm_at="pre")
