"""DistilBERT (Sanh et al. 2019): BERT with half of the blocks, and without kinds of token.

The traps: ε is 1e-12, and no attribute says so; positions that began as waves (``sinusoidal_pos_embds``) are stored as
a table like all others; a classifier of texts has a layer of its own before it, with ReLU where BERT has tanh.
"""

from viz_model.checkpoints.families import bert
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, rename, task_head, unembedding
from viz_model.config import MaskedHead, ModelConfig, NoHead

SIZES = {
    **usual(n_vocab=30522, n_context=512),
    "n_layers": ("n_layers", 6),
    "d_model": ("dim", 768),
    "n_heads": ("n_heads", 12),
    "d_ffn": ("hidden_dim", 3072),
}
NAMES = names(SIZES)


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["sinusoidal_pos_embds", "tie_weights_"])
    activation = a.choice("activation", ACTIVATIONS, "gelu")
    fills_masks = a.holds("vocab_transform.")
    of_tokens = MaskedHead(activation=activation) if fills_masks else NoHead()
    return bert.encoder(a, a.sizes(SIZES), activation, bert.head(a, "relu") or of_tokens)


def renames(config: ModelConfig) -> list[Rename]:
    """The prefix ``distilbert.`` is absent where there is no head."""
    theirs, ours = "[distilbert.]transformer.layer.{layer}.", "encoder.blocks.{layer}."
    return [
        rename("[distilbert.]embeddings.word_embeddings.weight", "embedding.weight"),
        rename("[distilbert.]embeddings.position_embeddings.weight", "encoder.position.table.weight"),
        rename("[distilbert.]embeddings.LayerNorm.*", "encoder.embed_norm.*"),
        *(rename(f"{theirs}attention.{part}_lin.*", f"{ours}attn.{part}.*") for part in "qkv"),
        rename(f"{theirs}attention.out_lin.*", f"{ours}attn.o.*"),
        rename(f"{theirs}sa_layer_norm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}ffn.lin1.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}ffn.lin2.*", f"{ours}ffn.down.*"),
        rename(f"{theirs}output_layer_norm.*", f"{ours}ffn_norm.*"),
        rename("vocab_transform.*", "head.dense.*"),
        rename("vocab_layer_norm.*", "head.norm.*"),
        unembedding("vocab_projector.weight", config),
        rename("vocab_projector.bias", "head.unembedding.bias"),
        *bert.classifier(config, "pre_classifier.*", "classifier.*"),
        task_head("qa_outputs.*"),
    ]
