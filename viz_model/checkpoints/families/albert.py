"""ALBERT (Lan et al. 2020): an encoder whose layers all run with the weights of one block, and whose rows of tokens,
positions and segments are narrower than the stream, with a matrix behind their sum.

The traps: that matrix is there even where both are as wide; the norm of the feed-forward stands beside the attention,
as ``full_layer_layer_norm``; the bias of the logits is stored twice. Several blocks that take turns are refused.
"""

from dataclasses import replace

from viz_model.checkpoints.families import bert
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, ignored, rename, task_head, unembedding
from viz_model.config import Dense, MaskedHead, ModelConfig, NoHead, Tokens

NAMES = {**bert.NAMES, "inputs": "embedding_size", "shared_blocks": "num_hidden_groups"}


def config(a: Attributes) -> ModelConfig:
    for name in ("num_hidden_groups", "inner_group_num"):
        a.one_value(name, 1)
    a.no_effect(["classifier_dropout_prob", "down_scale_factor", "gap_size", "layers_to_keep", "net_structure_type",
                 "num_memory_blocks"])  # fmt: skip
    activation = a.choice("hidden_act", ACTIVATIONS, "gelu_new")
    fills_masks = a.holds("predictions.")
    head = MaskedHead(activation=activation) if fills_masks else NoHead()
    base = bert.read(a, head, n_vocab=30000, d_model=4096, n_heads=64, d_ffn=16384)
    rows = Tokens(width=a.size("embedding_size", 128))
    return replace(base, ffn=Dense(activation=activation), inputs=rows, shared_blocks=True)


def renames(config: ModelConfig) -> list[Rename]:
    """One block for all layers; BERT's embedding, and a head that comes back to the narrow rows."""
    theirs, ours = "[albert.]encoder.albert_layer_groups.0.albert_layers.0.", "encoder.blocks.0."
    attn = {"query": "attn.q", "key": "attn.k", "value": "attn.v", "dense": "attn.o", "LayerNorm": "attn_norm"}
    layer = {**{f"attention.{name}": own for name, own in attn.items()}, "ffn": "ffn.up", "ffn_output": "ffn.down"}
    layer["full_layer_layer_norm"] = "ffn_norm"
    pooler = ["head.dense.*"] if config.classes else []
    return [
        *(row for row in bert.stack("albert") if "]embeddings." in row.theirs),
        rename("[albert.]encoder.embedding_hidden_mapping_in.*", "encoder.project.*"),
        *(rename(f"{theirs}{name}.*", f"{ours}{own}.*") for name, own in layer.items()),
        rename("predictions.dense.*", "head.dense.*"),
        rename("predictions.LayerNorm.*", "head.norm.*"),
        unembedding("predictions.decoder.weight", config),
        *(rename(f"predictions.{name}bias", "head.unembedding.bias") for name in ("", "decoder.")),
        rename("[albert.]pooler.*", *pooler) if pooler else ignored("[albert.]pooler.*", bert.NEXT_SENTENCE),
        rename("classifier.*", "head.classes.*") if config.classes else task_head("classifier.*"),
        *map(task_head, ("sop_classifier.**", "qa_outputs.*")),
    ]
