"""Gemma (Gemma Team 2024): Llama's block with wide heads, a gated GELU, and embedding rows times √D.

The traps: what is stored of a norm is how far its gain is from 1; ``"hidden_act": "gelu"`` of the first files means
the approximation, as ``hidden_activation`` says where it stands; in 16 bits the reference rounds √D.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes
from viz_model.checkpoints.families.in_gguf import Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Activation, Gated, LanguageHead, ModelConfig, RMSNorm

NAMES = llama.NAMES

ROOT = "query_pre_attn_scalar"
GGUF = Gguf("gemma")


def config(attributes: Attributes, tensors: Collection[str]) -> ModelConfig:
    """What the attributes mean. Raises ModelError for a value that is not supported."""
    a = attributes
    a.one_value("use_bidirectional_attention", False)
    a.no_effect(["attention_dropout"])
    n_context = a.size("max_position_embeddings", 8192)
    return ModelConfig(
        n_vocab=a.size("vocab_size", 256000),
        n_context=n_context,
        n_layers=a.size("num_hidden_layers", 28),
        d_model=a.size("hidden_size", 3072),
        n_heads=a.size("num_attention_heads", 16),
        n_kv_heads=a.size("num_key_value_heads", 16),
        d_head=a.size("head_dim", 256),
        d_ffn=a.size("intermediate_size", 24576),
        norm=RMSNorm(eps=a.number("rms_norm_eps", 1e-6)),
        position=rope.read(a, n_context),
        ffn=Gated(activation=activation(a)),
        head=LanguageHead(),
        attention_bias=a.flag("attention_bias", False),
        tie_embeddings=a.flag("tie_word_embeddings", True),
        scale_embedding=True,
    )


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, with gains stored from 1."""
    return from_one(llama.renames(config))


def activation(a: Attributes) -> Activation:
    """``hidden_activation`` where it stands, else ``hidden_act``, whose ``gelu`` is the approximation."""
    a.no_effect(["hidden_act"])
    if "hidden_activation" in a:
        return a.choice("hidden_activation", ACTIVATIONS)
    known: dict[str, Activation] = {**ACTIVATIONS, "gelu": "gelu_tanh"}
    return a.choice("hidden_act", known, "gelu_pytorch_tanh")


def root(a: Attributes, d_head: int) -> float | None:
    """What the later ones take the square root of in the place of K; None where it is K."""
    under = a.number(ROOT, 256.0)
    return None if under == d_head else under


def root_by_depth(plain: Mapping[str, Any], deepest: int) -> dict[str, Any]:
    """What GGUF files leave to the number of layers: in the largest of a generation it is D/H, elsewhere K."""
    is_deepest = plain["num_hidden_layers"] == deepest
    return {ROOT: plain["hidden_size"] / plain["num_attention_heads"] if is_deepest else plain["head_dim"]}


def cap(a: Attributes, name: str, default: float | None) -> float | None:
    """A cap on scores or logits; ``null`` is none, an absent one the family's default."""
    if a.is_null(name) or (default is None and name not in a):
        return None
    return a.number(name, default)


def from_one(rows: list[Rename]) -> list[Rename]:
    """A table in which every norm's gain is stored as its distance from 1."""
    return [dataclasses.replace(row, how="from_one") if row.ours and "norm" in row.ours[0] else row for row in rows]
