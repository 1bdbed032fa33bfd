"""Granite 3 (IBM 2024): Llama's block with factors of embedding, scores and logits, and of what sub-layers write.

The traps: ``attention_multiplier`` stands in the place of 1/√K, and logits are divided by ``logits_scaling``. The other
two factors are multiplied into weights when these are read, the rows of the embedding and the last matrix of each
sub-layer: what these hold here is their factor times what the file holds, and every vector is the same.
"""

from dataclasses import replace

from viz_model.checkpoints.families import llama
from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename
from viz_model.config import LanguageHead, ModelConfig

NAMES = {**llama.NAMES, "scale_width": "attention_multiplier", "head": "logits_scaling"}


def config(a: Attributes) -> ModelConfig:
    base = llama.read(a, ffn=llama.gated(a, bias=a.flag("mlp_bias", False)))
    rows, _ = _factors(a)
    factor = 1 / (a.number("logits_scaling", 1.0) * (rows if base.tie_embeddings else 1))
    under = a.number("attention_multiplier", 1.0) ** -2
    return replace(
        base,
        attention_bias=a.flag("attention_bias", False),
        scale_width=None if under == base.d_head else under,
        head=LanguageHead(factor=None if factor == 1 else factor),
    )


def _factors(a: Attributes) -> tuple[float, float]:
    """Of the rows of the embedding, and of what sub-layers write."""
    return a.number("embedding_multiplier", 1.0), a.number("residual_multiplier", 1.0)


renames = llama.renames


def multiplied(rows: list[Rename], a: Attributes) -> list[Rename]:
    """The table with the two factors that are read into weights: a head that may be the embedding's has its factor."""
    of_rows, written = _factors(a)
    heads = ("lm_head.weight",) if a.flag("tie_word_embeddings", False) else ()

    def times(row: Rename) -> float:
        if row.theirs.endswith(("embed_tokens.weight", *heads)):
            return of_rows
        return written if row.theirs.endswith((".o_proj.*", ".down_proj.*")) else 1.0

    return [replace(row, times=times(row)) for row in rows]
