"""Phi-1, 1.5 and 2 (Gunasekar et al. 2023): one LayerNorm for attention and feed-forward, which stand side by side.

The traps: only a half of each head is turned, where the file names no share; the logits have a bias; norms of queries
and keys, which the reference has for files that were never published, are refused.
"""

from functools import partial

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename
from viz_model.config import Dense, LanguageHead, LayerNorm, ModelConfig

NAMES = {**llama.NAMES, "norm": "layer_norm_eps"}


def config(a: Attributes) -> ModelConfig:
    a.one_value("qk_layernorm", False)
    ffn = Dense(activation=a.choice("hidden_act", ACTIVATIONS, "gelu_new"))
    return llama.read(
        a, turned=partial(rope.read, share=0.5), ffn=ffn, n_vocab=51200, n_layers=24, d_model=2048, n_heads=32,
        d_ffn=8192, norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-5)), attention_bias=True, parallel=True,
        shared_norm=True, head=LanguageHead(bias=True),
    )  # fmt: skip


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, but for what attention writes, the feed-forward layer, the last norm, and the bias of the head."""
    return [
        rename(f"{llama.THEIRS}self_attn.dense.*", f"{llama.OURS}attn.o.*"),
        rename(f"{llama.THEIRS}mlp.fc1.*", f"{llama.OURS}ffn.up.*"),
        rename(f"{llama.THEIRS}mlp.fc2.*", f"{llama.OURS}ffn.down.*"),
        rename("[model.]final_layernorm.*", "decoder.final_norm.*"),
        rename("lm_head.bias", "head.unembedding.bias"),
        *llama.renames(config),
    ]
