"""SmolLM3 (Bakouch et al. 2025): Llama's block; every fourth layer knows no positions (Yang et al. 2025, RoPE to NoPE).

The traps: in ``no_rope_layers`` a 1 is a layer *with* rotary positions; where a window is switched on, the layers
without positions are the ones that slide.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.checkpoints.weights import ModelError
from viz_model.config import LIMITS, Gated, LanguageHead, ModelConfig, NoPosition, RMSNorm

NAMES = {**llama.NAMES, "windows": "layer_types", "positions": "no_rope_layers"}
GGUF = Gguf("smollm3", pairing="interleaved")


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(["attention_dropout", "max_window_layers", "pretraining_tp"])
    n_context = a.size("max_position_embeddings", 32768)
    n_layers = a.size("num_hidden_layers", 36)
    n_heads = a.size("num_attention_heads", 16)
    turned = _turned(a, n_layers)
    turn = rope.read(a, n_context, base=2_000_000.0)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 128256),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 2048),
        n_heads=n_heads,
        n_kv_heads=n_heads if a.is_null("num_key_value_heads") else a.size("num_key_value_heads", 4),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 11008),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=turn,
        positions=tuple(turn if flag else NoPosition() for flag in turned) if not all(turned) else (),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu"), bias=a.flag("mlp_bias", False)),
        head=LanguageHead(),
        windows=_windows(a, turned),
        attention_bias=a.flag("attention_bias", False),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table."""
    return llama.renames(config)


def _turned(a: Attributes, n_layers: int) -> list[bool]:
    """For each layer, whether positions turn its queries and keys."""
    flags, interval = a.items("no_rope_layers"), a.size("no_rope_layer_interval", 4)
    if n_layers > LIMITS["n_layers"]:  # which ModelConfig refuses
        return []
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
