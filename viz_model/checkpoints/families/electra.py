"""ELECTRA (Clark et al. 2020): BERT with rows of tokens, positions and segments that are narrower than the stream, and
a matrix behind their sum (Lan et al. 2020, section 3.1).

A generator fills masks. A discriminator says of each token whether it was replaced: one number a token, which is no
number for each token of a vocabulary, so that its head is left out, and the model says so.

The traps: the generator's head is always a GELU, whatever the blocks have, and comes back to the narrow rows; where
rows are as wide as the stream there is no matrix.
"""

from dataclasses import replace

from viz_model.checkpoints.families import bert
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, rename, task_head, unembedding
from viz_model.config import MaskedHead, ModelConfig, NoHead, Tokens

NAMES = {**bert.NAMES, "inputs": "embedding_size"}


def config(a: Attributes) -> ModelConfig:
    a.no_effect(f"summary_{name}" for name in ("type", "use_proj", "activation", "last_dropout"))
    fills_masks = a.holds("generator_predictions.")
    head = MaskedHead(activation="gelu") if fills_masks else NoHead()
    base = bert.read(a, head, classifies=False, d_model=256, n_heads=4, d_ffn=1024)
    width = a.size("embedding_size", 128)
    return replace(base, inputs=Tokens(width=0 if width == base.d_model else width))


def renames(config: ModelConfig) -> list[Rename]:
    """BERT's stack, the matrix behind the embedding, and the generator's head."""
    return [
        *bert.stack("electra"),
        rename("[electra.]embeddings_project.*", "encoder.project.*"),
        rename("generator_predictions.dense.*", "head.dense.*"),
        rename("generator_predictions.LayerNorm.*", "head.norm.*"),
        unembedding("generator_lm_head.weight", config),
        rename("generator_lm_head.bias", "head.unembedding.bias"),
        *map(task_head, ("discriminator_predictions.**", "classifier.**", "qa_outputs.*", "sequence_summary.**")),
    ]
