"""Falcon (Almazrouei et al. 2023): attention and feed-forward side by side, and keys and values shared by many queries.

Three layouts: that of 7B (one norm for both sub-layers, one key–value head), that of 40B (``new_decoder_architecture``:
a norm for each, key–value heads for groups), and that of Falcon-RW (in turn, each head its own keys, and penalties of
distance that are divided by √K together with q·k).

The traps: query, key and value are one matrix, group by group, each group's key and value behind its queries; newer
files of the second layout may have one norm (``num_ln_in_parallel_attn``), and then it is called ``input_layernorm``;
the reference rounds penalties to 16 bits, which is not done here, and adds them twice where it is asked for attention.
"""

from collections.abc import Collection, Mapping
from typing import Any

from viz_model.checkpoints.families import gpt_neox, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf, names, usual
from viz_model.checkpoints.renames import Rename, rename, unembedding
from viz_model.checkpoints.weights import ModelError
from viz_model.config import Alibi, Dense, LayerNorm, ModelConfig

SIZES = usual(n_vocab=65024, n_context=2048, n_layers=32)
NAMES = {
    **names(SIZES),
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_kv_heads",
    "d_ffn": "ffn_hidden_size",
    "norm": "layer_norm_epsilon",
    "position": "rope_theta",
}


def _layout(plain: Mapping[str, Any], tensors: Collection[str]) -> dict[str, Any]:
    """Which of the layouts a GGUF file has: that of Falcon-RW has no names there."""
    two_norms, one_key = "blk.0.attn_norm_2.weight" in tensors, plain["num_kv_heads"] == 1
    return {
        "new_decoder_architecture": two_norms or not one_key,
        "num_ln_in_parallel_attn": 2 if two_norms else 1,
        "multi_query": one_key,
        "bias": "blk.0.attn_qkv.bias" in tensors,
    }


GGUF = Gguf("falcon", seen=_layout)


def config(a: Attributes) -> ModelConfig:
    n_heads, bias = a.size("num_attention_heads", 71), a.flag("bias", False)
    d_model = a.size("n_embed" if "n_embed" in a else "hidden_size", 4544)
    a.no_effect(["hidden_size"])
    is_new, n_kv_heads = a.flag("new_decoder_architecture", False), a.size("num_kv_heads", n_heads)
    one_key, parallel = a.flag("multi_query", True), a.flag("parallel_attn", True)
    if is_new and not parallel:
        raise ModelError(f"{a.path}: parallel_attn: expected true beside new_decoder_architecture, got False")
    n_norms = a.size("num_ln_in_parallel_attn", 2 if is_new else 1)
    if n_norms > 2 or (n_norms == 2 and not is_new):
        raise ModelError(
            f"{a.path}: num_ln_in_parallel_attn: expected 1 (2 with new_decoder_architecture alone), got {n_norms}"
        )
    sizes = a.sizes(SIZES)
    turned = rope.read(a, sizes["n_context"])
    return ModelConfig(
        **sizes,
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=1 if one_key and not is_new else n_kv_heads if is_new else n_heads,
        d_ffn=a.size("ffn_hidden_size", 4 * d_model),
        norm=LayerNorm(eps=a.number("layer_norm_epsilon", 1e-5)),
        parallel=parallel,
        shared_norm=parallel and n_norms == 1,
        position=Alibi(divided=True) if a.flag("alibi", False) else turned,
        ffn=Dense(activation=a.choice("activation", ACTIVATIONS, "gelu"), bias=bias),
        attention_bias=bias,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Norms are called otherwise where there are two for sub-layers that are parallel."""
    two = config.parallel and not config.shared_norm
    norms = ("ln_attn", "ln_mlp") if two else gpt_neox.NORMS
    return [
        rename("[transformer.]word_embeddings.weight", "embedding.weight"),
        *gpt_neox.block("[transformer.]h.{layer}.", "self_attention", config, norms),
        rename("[transformer.]ln_f.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
    ]
