"""RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT's stack; another head, and positions that begin later.

The traps: the table of positions has rows that no position reads, up to that of the padding's id, so that 514 rows are
512 positions; a padding token inside a text would not count as a position; the head's activation is always the exact
GELU.
"""

from dataclasses import replace

from viz_model.checkpoints.families import bert
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, rename, task_head, unembedding
from viz_model.checkpoints.weights import ModelError
from viz_model.config import Learned, MaskedHead, ModelConfig, NoHead

TYPES = ("camembert", "roberta", "xlm-roberta")
NAMES = bert.NAMES

PADDING = 1
"""The id of the padding, and the last row of positions that no position reads."""


def config(a: Attributes) -> ModelConfig:
    a.one_value("pad_token_id", PADDING)
    fills_masks = a.holds("lm_head.")
    base = bert.read(a, MaskedHead() if fills_masks else NoHead(), n_vocab=50265)
    if base.n_context <= PADDING + 1:
        raise ModelError(f"{a.path}: max_position_embeddings: expected more than the {PADDING + 1} that are not read")
    return replace(base, n_context=base.n_context - PADDING - 1, position=Learned(padding=PADDING))


def renames(config: ModelConfig) -> list[Rename]:
    """BERT's stack under another prefix, and a head of its own; the classifier's first layer is called dense."""
    return [
        *bert.stack("roberta", skip=PADDING + 1),
        rename("lm_head.dense.*", "head.dense.*"),
        rename("lm_head.layer_norm.*", "head.norm.*"),
        rename("lm_head.bias", "head.unembedding.bias"),
        rename("lm_head.decoder.bias", "head.unembedding.bias"),
        unembedding("lm_head.decoder.weight", config),
        *bert.classifier(config, "classifier.dense.*", "classifier.out_proj.*"),
        # That of tokens has no layer in front.
        *map(task_head, ("qa_outputs.*", "classifier.*")),
    ]
