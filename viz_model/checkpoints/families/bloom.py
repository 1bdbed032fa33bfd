"""BLOOM (BigScience 2022): GPT-2's block with distance penalties in the place of positions, and a normed embedding.

The traps: query, key and value are one matrix, by turns for each head; the GELU is the approximation, and no attribute
says so; penalties begin at the first token in the reference and at the query here, which softmax does not see; the
norm before the feed-forward layer is called ``post_attention_layernorm``. Nothing bounds the context: ``seq_length``
is what it was trained with.
"""

from viz_model.checkpoints.families import gpt_neox
from viz_model.checkpoints.families.attributes import Attributes, Gguf, names
from viz_model.checkpoints.renames import Rename, rename, unembedding
from viz_model.config import Alibi, Dense, LayerNorm, ModelConfig

SIZES = {"n_vocab": ("vocab_size", 250_880), "n_context": ("seq_length", 2048)}
NAMES = {
    **names(SIZES),
    "n_layers": "n_layer",
    "d_model": "hidden_size",
    "n_heads": "n_head",
    "norm": "layer_norm_epsilon",
}

_OF_TRAINING = """
    attention_softmax_in_fp32 bias_dropout_fusion masked_softmax_fusion offset_alibi pretraining_tp
    skip_bias_add skip_bias_add_qkv slow_but_exact unk_token_id
"""
GGUF = Gguf("bloom")


def config(a: Attributes) -> ModelConfig:
    a.one_value("apply_residual_connection_post_layernorm", False)
    if a.size("pretraining_tp", 1) > 1:
        a.one_value("slow_but_exact", False)  # Transformers then adds slices, and leaves two biases out
    a.no_effect(_OF_TRAINING.split())
    d_model = a.size("n_embed" if "n_embed" in a else "hidden_size", 64)
    a.no_effect(["hidden_size"])
    return ModelConfig(
        **a.sizes(SIZES),
        n_layers=a.size("num_hidden_layers" if "num_hidden_layers" in a else "n_layer", 2),
        d_model=d_model,
        n_heads=a.size("num_attention_heads" if "num_attention_heads" in a else "n_head", 8),
        d_ffn=4 * d_model,
        norm=LayerNorm(eps=a.number("layer_norm_epsilon", 1e-5)),
        position=Alibi(),
        embedding_norm=True,
        ffn=Dense(activation="gelu_tanh"),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """The outermost prefix is absent where there is no head."""
    return [
        rename("[transformer.]word_embeddings.weight", "embedding.weight"),
        rename("[transformer.]word_embeddings_layernorm.*", "decoder.embed_norm.*"),
        *gpt_neox.block("[transformer.]h.{layer}.", "self_attention", config),
        rename("[transformer.]ln_f.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
    ]
