"""RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT's stack; another head, and positions that begin later.

The traps: the table of positions has rows that no position reads, up to that of the padding's id, so that 514 rows are
512 positions; a padding token inside a text would not count as a position, which is not done here; the head's
activation is always the exact GELU.
"""

from __future__ import annotations

from collections.abc import Collection

from viz_model.checkpoints.families import bert, classes
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.renames import Rename, rename, task_head
from viz_model.checkpoints.weights import ModelError
from viz_model.config import Dense, LayerNorm, Learned, MaskedHead, ModelConfig, NoHead

NAMES = bert.NAMES

PADDING = 1
"""The id of the padding, and the last row of positions that no position reads."""


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("position_embedding_type", "absolute")
    a.one_value("pad_token_id", PADDING)
    a.no_effect(["hidden_dropout_prob", "attention_probs_dropout_prob"])
    n_context = a.size("max_position_embeddings", 512) - PADDING - 1
    if n_context < 1:
        raise ModelError(f"{a.path}: max_position_embeddings: expected more than the {PADDING + 1} that are not read")
    fills_masks = any(name.startswith("lm_head.") for name in tensors)
    of_tokens = MaskedHead() if fills_masks else NoHead()
    return ModelConfig(
        kind="encoder",
        n_vocab=a.size("vocab_size", 50265),
        n_context=n_context,
        n_layers=a.size("num_hidden_layers", 12),
        d_model=a.size("hidden_size", 768),
        n_heads=a.size("num_attention_heads", 12),
        d_ffn=a.size("intermediate_size", 3072),
        norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-12)),
        norm_at="post",
        position=Learned(),
        n_segments=a.size("type_vocab_size", 2),
        embedding_norm=True,
        ffn=Dense(activation=a.choice("hidden_act", ACTIVATIONS, "gelu")),
        head=classes.head(a, tensors, "tanh") or of_tokens,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """BERT's stack under another prefix, and a head of its own; the classifier's first layer is called dense."""
    table = "embedding.weight" if config.tie_embeddings else "head.unembedding.weight"
    return [
        *bert.stack("roberta", skip=PADDING + 1),
        rename("lm_head.dense.*", "head.dense.*"),
        rename("lm_head.layer_norm.*", "head.norm.*"),
        rename("lm_head.bias", "head.unembedding.bias"),
        rename("lm_head.decoder.bias", "head.unembedding.bias"),
        rename("lm_head.decoder.weight", table),
        *_classifier(config),
        task_head("qa_outputs.*"),
    ]


def _classifier(config: ModelConfig) -> list[Rename]:
    """Of texts; that of tokens has no layer in front, and is left out."""
    if config.classes:
        return [
            rename("classifier.dense.*", "head.dense.*"),
            rename("classifier.out_proj.*", "head.classes.*"),
        ]
    return [*map(task_head, ("classifier.*", "classifier.dense.*", "classifier.out_proj.*"))]
