"""Gemma 2 (Gemma Team 2024b): Gemma's parts, norms on both ends of every sub-layer, and caps on scores and logits.

The traps: the cap on the scores stands before the mask; a cap of ``null`` is none, an absent one is the published
number; every other layer, the first among them, sees a window; ``query_pre_attn_scalar`` is what the square root is
taken of in the place of K, 256 where the config says nothing; gains are stored from 1.
"""

from dataclasses import replace

from viz_model.checkpoints.families import gemma, gemma3, windows
from viz_model.checkpoints.families.attributes import Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import LanguageHead, ModelConfig

NAMES = {**gemma.NAMES, "windows": "layer_types", "score_cap": "attn_logit_softcapping", "scale_width": gemma.ROOT}
GGUF = Gguf(
    "gemma2",
    fields={
        "attention.sliding_window": "sliding_window",
        "attn_logit_softcapping": "attn_logit_softcapping",
        "final_logit_softcapping": "final_logit_softcapping",
    },
    seen=lambda plain, tensors: gemma.root_by_depth(plain, 46),
)


def config(a: Attributes) -> ModelConfig:
    base = gemma.read_later(a, n_vocab=256_000, n_context=8192)
    kinds = windows.words(a, base.n_layers, windows.every_other)
    return replace(
        base,
        head=LanguageHead(cap=gemma.cap(a, "final_logit_softcapping", 30.0)),
        windows=windows.of_words(a, kinds, windows.size(a)),
        score_cap=gemma.cap(a, "attn_logit_softcapping", 50.0),
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Gemma 3's table without norms of queries and keys."""
    return [row for row in gemma3.renames(config) if not any("qk_norm" in place for place in row.ours)]
