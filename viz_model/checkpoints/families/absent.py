"""Families that are not read: which of those here is most like one, and what it would need besides."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import NamedTuple


class Absent(NamedTuple):
    """``nearest`` is a family that is read; ``needed`` what the other has and no part here computes."""

    nearest: str
    needed: str


ABSENT = {
    "beit": Absent("vit", "a table of distances in two directions, and a learned scale of what each sub-layer writes"),
    "albert": Absent("bert", "one block run several times, and an embedding narrower than the stream"),
    "deberta": Absent("bert", "scores of content with position and of position with content"),
    "deberta-v2": Absent("bert", "scores of content with position and of position with content"),
    "deit": Absent("vit", "a second vector in front of the patches, which learns from another model"),
    "dinov2": Absent("vit", "a learned scale of what each sub-layer writes"),
    "deepseek_v2": Absent("qwen3_moe", "keys and values made of a narrow latent vector, and experts chosen by groups"),
    "deepseek_v3": Absent("qwen3_moe", "keys and values made of a narrow latent vector, and experts chosen by groups"),
    "electra": Absent("bert", "an embedding narrower than the stream, and a head that tells replaced tokens"),
    "gemma3": Absent("gemma3_text", "pictures among the tokens"),
    "gpt_oss": Absent("mixtral", "a learned sink in every softmax, and gates that are kept within bounds"),
    "gptj": Absent("falcon", "a table of its own: neighbours in pairs, and a bias of the logits"),
    "mamba": Absent("gpt2", "a state that is carried from token to token, in the place of attention"),
    "qwen2_moe": Absent("qwen3_moe", "a table of its own: queries with biases, and an expert that reads every token"),
    "swin": Absent("vit", "windows that shift from block to block, and patches that are joined"),
    "whisper": Absent("marian", "sound in the place of tokens"),
}


def told(name: object, families: Collection[str]) -> str:
    """Why a ``model_type`` is refused, on one line: what is there, what is nearest, and what would be needed."""
    shown = repr(name)[:80]
    if isinstance(name, str) and name in ABSENT:
        nearest, needed = ABSENT[name]
        return f"{shown} is not read here; the nearest that is read is {nearest}, without {needed}"
    near = difflib.get_close_matches(name, families, n=1) if isinstance(name, str) else []
    hint = f"; the nearest is {near[0]}" if near else ""
    return (
        f"expected one of {', '.join(families)}, got {shown}{hint}; another family needs a table of its attributes and "
        "tensors in viz_model/checkpoints/families"
    )
