"""OPT (Zhang et al. 2022): GPT-2's block with ReLU and one matrix each for query, key and value.

The traps: the table of positions begins with two rows that no position reads; the norm before the feed-forward layer is
called ``final_layer_norm``, as is that of the whole decoder; the file of 350 million weights has its norms after each
addition, and a narrower embedding, with which it is refused.
"""

from viz_model.checkpoints.families import bart
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, rename, unembedding
from viz_model.config import Dense, LayerNorm, Learned, ModelConfig

SIZES = {**usual(n_vocab=50272, n_context=2048, n_layers=12, d_model=768, n_heads=12), "d_ffn": ("ffn_dim", 3072)}
NAMES = names(SIZES)


def config(a: Attributes) -> ModelConfig:
    sizes, bias = a.sizes(SIZES), a.flag("enable_bias", True)
    a.one_value("word_embed_proj_dim", sizes["d_model"])
    a.one_value("_remove_final_layer_norm", False)
    a.one_value("layer_norm_elementwise_affine", True)
    return ModelConfig(
        **sizes,
        norm=LayerNorm(),
        norm_at="pre" if a.flag("do_layer_norm_before", True) else "post",
        position=Learned(),
        ffn=Dense(activation=a.choice("activation_function", ACTIVATIONS, "relu"), bias=bias),
        attention_bias=bias,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Early files lack the outermost prefix."""
    return [
        rename("[model.]decoder.embed_tokens.weight", "embedding.weight"),
        rename("[model.]decoder.embed_positions.weight", "decoder.position.table.weight", skip=bart.BEFORE_THE_FIRST),
        *bart.block("[model.]decoder.layers.{layer}.", "decoder.blocks.{layer}."),
        rename("[model.]decoder.final_layer_norm.*", "decoder.final_norm.*"),
        unembedding("lm_head.weight", config),
    ]
