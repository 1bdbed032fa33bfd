"""Phi-3 and Phi-4-mini (Abdin et al. 2024): Llama's block with two matrices where Llama has five.

The traps: query, key and value are rows of one matrix, all queries first; gate and up are halves of another, the gate
first; a part of each head may be left unturned; and of the long-context files, whose rotation depends on how long the
text is, none can be shown (``longrope`` is refused).
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import llama, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**{field: name for field, name in llama.NAMES.items() if field != "d_head"}, "windows": "sliding_window"}
GGUF = Gguf("phi3", fields={"attention.sliding_window": "sliding_window"}, partial=True)


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    for name in ("attention_bias", "mlp_bias", "lm_head_bias"):
        a.one_value(name, False)
    # The original context only scales a rotation that is refused.
    a.no_effect(["attention_dropout", "resid_pdrop", "embd_pdrop", "original_max_position_embeddings"])
    n_context = a.size("max_position_embeddings", 4096)
    n_layers = a.size("num_hidden_layers", 32)
    n_heads = a.size("num_attention_heads", 32)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 32064),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 3072),
        n_heads=n_heads,
        n_kv_heads=a.size("num_key_value_heads", n_heads),
        d_ffn=a.size("intermediate_size", 8192),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-5)),
        position=rope.read(a, n_context, share=1.0),
        ffn=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
        head=LanguageHead(),
        windows=windows.every(n_layers, a.size("sliding_window") if "sliding_window" in a else 0),
        attention_bias=False,
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The two fused matrices, and Llama's table."""
    theirs, ours = "[model.]layers.{layer}.", "decoder.blocks.{layer}."
    qkv = [f"{ours}attn.{part}.weight" for part in "qkv"]
    return [
        rename(f"{theirs}self_attn.qkv_proj.weight", *qkv),
        rename(f"{theirs}mlp.gate_up_proj.weight", f"{ours}ffn.gate.weight", f"{ours}ffn.up.weight"),
        *llama.renames(config),
    ]
