"""OLMo 3 (OLMo Team 2025): OLMo 2's block; three layers in four see a window.

The trap: only the layers that see all turn by scaled angles, so that a file's ``rope_scaling`` is not that of every
layer.
"""

from __future__ import annotations

from dataclasses import replace

from viz_model.checkpoints.families import llama, olmo2, rope, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import ModelConfig, Rope

NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "layer_types"}
BASE = 500_000.0
renames = olmo2.renames


def config(a: Attributes) -> ModelConfig:
    schemes: list[Rope] = []

    def turned(a: Attributes, n_context: int) -> Rope:
        base = a.number("rope_theta", BASE)
        if (old := a.inner("rope_scaling")) is not None:
            schemes.extend((rope.within(old, n_context, base), Rope(base=base)))
            old.finish()
        else:
            schemes.extend(rope.by_kind(a, n_context, base, base))
        return schemes[0]

    base = olmo2.read(a, turned)
    kinds = windows.words(a, base.n_layers, lambda layer: (layer + 1) % 4 != 0)
    return replace(
        base,
        windows=windows.of_words(a, kinds, windows.size(a)),
        positions=rope.of_words(kinds, *schemes),
    )
