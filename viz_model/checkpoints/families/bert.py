"""BERT (Devlin et al. 2019): an encoder, LayerNorm after each addition, learned positions and segments.

Files of sentence encoders hold no head; those trained to fill masks hold one under ``cls``; classifiers of texts read
the vector of [CLS] through a layer, the ``pooler``. The heads of other tasks (of tokens, spans, pairs) are left out,
and the model says so.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename, task_head, unembedding
from viz_model.config import Activation, ClassHead, Dense, Head, LayerNorm, Learned, MaskedHead, ModelConfig, NoHead


def head(a: Attributes, activation: Literal["tanh", "relu"]) -> ClassHead | None:
    """The head of such a file, with the activation of the layer in front; None where it has no such head."""
    labels = _labels(a)
    return ClassHead(labels=labels, activation=activation) if labels else None


def _labels(a: Attributes) -> tuple[str, ...]:
    """What the classes are called; none where the file has no such head.

    A single number is no class, and several answers at once are no choice among classes: such heads, and those that
    speak of tokens or spans, are left out.
    """
    names = a.words("architectures") or []
    classifies = any(name.endswith("ForSequenceClassification") for name in names)
    if not classifies or not a.holds("classifier."):
        return ()
    if a.plain.get("problem_type") not in (None, "single_label_classification"):
        return ()
    found = a.by_number("id2label") or tuple(f"LABEL_{n}" for n in range(a.size("num_labels", 2)))
    return found if len(found) > 1 else ()


SIZES = {
    **usual(n_vocab=30522, n_context=512, n_layers=12, d_model=768, n_heads=12, d_ffn=3072),
    "n_segments": ("type_vocab_size", 2),
}
NAMES = {**names(SIZES), "norm": "layer_norm_eps"}


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["directionality", "pooler_type"])
    a.no_effect(f"pooler_{name}" for name in ("fc_size", "num_attention_heads", "num_fc_layers", "size_per_head"))
    fills_masks = a.holds("cls.predictions.")
    return read(a, MaskedHead(activation=_activation(a)) if fills_masks else NoHead())


def read(a: Attributes, of_tokens: Head, *, classifies: bool = True, **absent: int) -> ModelConfig:
    """What BERT and RoBERTa have in common.

    Args:
        of_tokens: the head, unless it is that of a classifier of texts.
        classifies: whether such a classifier is BERT's.
        absent: sizes where a file names none, as far as they are other than BERT's.
    """
    a.one_value("position_embedding_type", "absolute")
    found = (head(a, "tanh") if classifies else None) or of_tokens
    return encoder(a, a.sizes(SIZES, absent), _activation(a), found, a.number("layer_norm_eps", 1e-12))


def encoder(
    a: Attributes, sizes: Mapping[str, Any], activation: Activation, head: Head, eps: float = 1e-12
) -> ModelConfig:
    """A stack like BERT's."""
    return ModelConfig(
        **sizes,
        kind="encoder",
        norm=LayerNorm(eps=eps),
        norm_at="post",
        position=Learned(),
        embedding_norm=True,
        ffn=Dense(activation=activation),
        head=head,
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=False,
    )


def _activation(a: Attributes) -> Activation:
    return a.choice("hidden_act", ACTIVATIONS, "gelu")


def renames(config: ModelConfig) -> list[Rename]:
    """The stack, and the head under ``cls``."""
    rows = [
        *stack("bert", pools=bool(config.classes)),
        rename("cls.predictions.transform.dense.*", "head.dense.*"),
        rename("cls.predictions.transform.LayerNorm.*", "head.norm.*"),
        rename("cls.predictions.bias", "head.unembedding.bias"),
        rename("cls.predictions.decoder.bias", "head.unembedding.bias"),
        unembedding("cls.predictions.decoder.weight", config),
        rename("classifier.*", "head.classes.*") if config.classes else task_head("classifier.*"),
        *map(task_head, ("[cls.]seq_relationship.*", "qa_outputs.*")),
    ]
    return rows + [old for row in rows if ".LayerNorm." in row.theirs for old in _old_names(row)]


def classifier(config: ModelConfig, dense: str, out: str) -> list[Rename]:
    """A head of texts with a layer in front; where the model has none such, it is left out."""
    if config.classes:
        return [rename(dense, "head.dense.*"), rename(out, "head.classes.*")]
    return [task_head(dense), task_head(out)]


NEXT_SENTENCE = "the classifier of sentence pairs, which no value here depends on"


def stack(prefix: str, skip: int = 0, pools: bool = False) -> list[Rename]:
    """Embedding and blocks; the prefix is absent where there is no head. ``skip`` rows of positions are not read.

    ``pools`` says whether the layer behind the stack, of a classifier of sentences, is that of the head here.
    """
    theirs, ours = f"[{prefix}.]encoder.layer.{{layer}}.", "encoder.blocks.{layer}."
    return [
        rename(f"[{prefix}.]embeddings.word_embeddings.weight", "embedding.weight"),
        rename(f"[{prefix}.]embeddings.position_embeddings.weight", "encoder.position.table.weight", skip=skip),
        rename(f"[{prefix}.]embeddings.token_type_embeddings.weight", "encoder.segment.weight"),
        rename(f"[{prefix}.]embeddings.LayerNorm.*", "encoder.embed_norm.*"),
        *(rename(f"{theirs}attention.self.{x}.*", f"{ours}attn.{x[0]}.*") for x in ("query", "key", "value")),
        rename(f"{theirs}attention.output.dense.*", f"{ours}attn.o.*"),
        rename(f"{theirs}attention.output.LayerNorm.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}intermediate.dense.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}output.dense.*", f"{ours}ffn.down.*"),
        rename(f"{theirs}output.LayerNorm.*", f"{ours}ffn_norm.*"),
        ignored(f"[{prefix}.]embeddings.position_ids", "the numbers 0, 1, 2, …"),
        rename(f"[{prefix}.]pooler.dense.*", "head.dense.*")
        if pools
        else ignored(f"[{prefix}.]pooler.dense.*", NEXT_SENTENCE),
    ]


def _old_names(row: Rename) -> list[Rename]:
    """The first files called the two parameters of a norm gamma and beta, as the paper of LayerNorm's kin does."""
    return [
        replace(row, theirs=row.theirs.replace("*", old), ours=tuple(name.replace("*", new) for name in row.ours))
        for old, new in (("gamma", "weight"), ("beta", "bias"))
    ]
