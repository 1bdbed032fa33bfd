"""SmolLM3 (Bakouch et al. 2025): Llama's block; every fourth layer knows no positions (Yang et al. 2025, RoPE to NoPE).

The traps: in ``no_rope_layers`` a 1 is a layer *with* rotary positions; where a window is switched on, the layers
without positions are the ones that slide.
"""

from dataclasses import replace
from functools import partial

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ModelConfig, NoPosition

NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "no_rope_layers"}
GGUF = Gguf("smollm3", pairing="interleaved")
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["max_window_layers", "pretraining_tp"])
    base = llama.read(
        a, turned=partial(rope.read, base=2_000_000.0), ffn=llama.gated(a, bias=a.flag("mlp_bias", False)), tied=True,
        n_vocab=128256, n_context=32768, n_layers=36, d_model=2048, n_heads=16, n_kv_heads=4,
        attention_bias=a.flag("attention_bias", False),
    )  # fmt: skip
    turned = _turned(a, base.n_layers)
    return replace(
        base,
        positions=tuple(base.position if flag else NoPosition() for flag in turned) if not all(turned) else (),
        windows=_windows(a, turned),
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
    window = a.size("sliding_window") if "sliding_window" in a else 0
    slides = a.flag("use_sliding_window", False) and window > 0
    return windows.of_words(a, windows.words(a, len(turned), lambda layer: slides and not turned[layer]), window)
