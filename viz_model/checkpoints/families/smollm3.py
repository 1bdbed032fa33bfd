"""SmolLM3 (Bakouch et al. 2025): Llama's block; every fourth layer knows no positions (Yang et al. 2025, RoPE to NoPE).

The traps: in ``no_rope_layers`` a 1 is a layer *with* rotary positions; where a window is switched on, the layers
without positions are the ones that slide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ModelConfig, NoPosition

NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "no_rope_layers"}
GGUF = Gguf("smollm3", pairing="interleaved")
renames = llama.renames


def config(a: Attributes, tensors: Collection[str]) -> ModelConfig:
    a.no_effect(["max_window_layers", "pretraining_tp"])
    base = llama.read(
        a,
        turned=partial(rope.read, base=2_000_000.0),
        ffn=llama.gated(a, bias=a.flag("mlp_bias", False)),
        tied=True,
        n_vocab=128256,
        n_context=32768,
        n_layers=36,
        d_model=2048,
        n_heads=16,
        n_kv_heads=4,
    )
    turned = _turned(a, base.n_layers)
    return replace(
        base,
        positions=tuple(base.position if flag else NoPosition() for flag in turned) if not all(turned) else (),
        windows=_windows(a, turned),
        attention_bias=a.flag("attention_bias", False),
    )


def _turned(a: Attributes, n_layers: int) -> list[bool]:
    """For each layer, whether positions turn its queries and keys."""
    flags, interval = a.items("no_rope_layers"), a.size("no_rope_layer_interval", 4)
    if flags is None:
        return [(layer + 1) % interval != 0 for layer in range(n_layers)]
    if len(flags) < n_layers or not all(type(flag) is int and flag in (0, 1) for flag in flags):
        raise ModelError(f"{a.path}: no_rope_layers: expected a 0 or 1 for each of {n_layers} layers")
    return [flag == 1 for flag in flags[:n_layers]]


def _windows(a: Attributes, turned: list[bool]) -> tuple[int, ...]:
    kinds, slides = a.words("layer_types"), a.flag("use_sliding_window", False)
    window = a.size("sliding_window") if "sliding_window" in a else 0
    if kinds is None:
        if not (slides and window):
            return ()
        kinds = [windows.SEES_ALL if flag else windows.SLIDES for flag in turned]
    return windows.of_words(a, kinds, window)
