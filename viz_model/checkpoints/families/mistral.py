"""Mistral (Jiang et al. 2023): Llama's block, and a window in every layer; Ministral has one in some.

The traps: the window counts the query's own position; ``"sliding_window": null`` is no window (versions 0.2 and 0.3),
where a file that says nothing means the first version's 4096; Transformers reads ``layer_types`` of a Ministral alone.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama, windows
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import ModelConfig

TYPES = ("ministral", "mistral")
NAMES = {**llama.NAMES, "windows": "sliding_window"}
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    base = llama.read(a, n_context=4096 * 32, n_kv_heads=8, d_ffn=14336)
    kinds, window = a.words("layer_types") if a.plain["model_type"] == "ministral" else None, windows.size(a)
    by_layer = windows.every(base.n_layers, window) if kinds is None else windows.of_words(a, kinds, window)
    return replace(base, windows=by_layer)
