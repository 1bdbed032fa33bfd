"""Mixtral (Jiang et al. 2024): Mistral's block with experts in the place of its feed-forward.

The traps: w1 is the gate, w3 what it multiplies, and w2 writes; the weights of the chosen experts are always
normalised; a file that says nothing of a window has none.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import experts, llama, rope, windows
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Experts, Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = {**llama.NAMES, "windows": "sliding_window", "ffn": "num_experts_per_tok"}
GGUF = Gguf("llama", has_experts=True, pairing="interleaved")


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.no_effect(experts.NO_EFFECT)
    n_context = a.size("max_position_embeddings", 4096 * 32)
    n_layers = a.size("num_hidden_layers", 32)
    n_heads = a.size("num_attention_heads", 32)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 32000),
        n_context=n_context,
        n_layers=n_layers,
        d_model=a.size("hidden_size", 4096),
        n_heads=n_heads,
        n_kv_heads=n_heads if a.is_null("num_key_value_heads") else a.size("num_key_value_heads", 8),
        d_head=a.size("head_dim") if "head_dim" in a else 0,
        d_ffn=a.size("intermediate_size", 14336),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-5)),
        position=rope.read(a, n_context, 1e6),
        ffn=Experts(
            expert=Gated(activation=a.choice("hidden_act", ACTIVATIONS, "silu")),
            n_experts=experts.number(a, 8),
            top_k=a.size("num_experts_per_tok", 2),
        ),
        head=LanguageHead(),
        windows=windows.every(n_layers, a.size("sliding_window", 0, 0)),
        attention_bias=False,
        tie_embeddings=a.flag("tie_word_embeddings", False),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, and that of the experts."""
    theirs = "[model.]layers.{layer}.block_sparse_moe."
    return [
        *(row for row in llama.renames(config) if ".mlp." not in row.theirs),
        *experts.renames(config, f"{theirs}gate.weight", f"{theirs}experts.", ("w1", "w3", "w2")),
    ]
