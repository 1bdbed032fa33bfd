"""StableLM (Bellagente et al. 2024): Llama's block with LayerNorm, and a quarter of each head turned.

The traps: biases of queries, keys and values do not bring one of what attention writes; with
``use_parallel_residual`` one norm serves both sub-layers; norms of each head's queries and keys are refused.
"""

from functools import partial

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.config import LayerNorm, ModelConfig

NAMES = {**llama.NAMES, "norm": "layer_norm_eps"}
renames = llama.renames


def config(a: Attributes) -> ModelConfig:
    a.one_value("qk_layernorm", False)
    beside = a.flag("use_parallel_residual", False)
    return llama.read(
        a, turned=partial(rope.read, share=0.25), n_vocab=50304, n_context=4096, d_model=2560, n_kv_heads=32,
        d_ffn=6912, norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-5)), attention_out_bias=False,
        attention_bias=a.flag("use_qkv_bias", False), parallel=beside, shared_norm=beside,
    )  # fmt: skip
