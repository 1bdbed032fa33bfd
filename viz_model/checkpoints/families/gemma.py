"""Gemma (Gemma Team 2024): Llama's block with wide heads, a gated GELU, and embedding rows times √D.

The traps: what is stored of a norm is how far its gain is from 1; ``"hidden_act": "gelu"`` of the first files means
the approximation, as ``hidden_activation`` says where it stands; in 16 bits the reference rounds √D.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viz_model.checkpoints.families import llama, rope
from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, Gguf
from viz_model.checkpoints.renames import Rename
from viz_model.config import Activation, Gated, ModelConfig

NAMES = llama.NAMES

ROOT = "query_pre_attn_scalar"
GGUF = Gguf("gemma")


def config(a: Attributes) -> ModelConfig:
    return read(
        a, n_vocab=256_000, n_context=8192, n_layers=28, d_model=3072, n_heads=16, n_kv_heads=16, d_head=256,
        d_ffn=24576,
    )  # fmt: skip


def read(a: Attributes, turned: llama.Turned = rope.read, **absent: Any) -> ModelConfig:
    """What the generations up to the third have in common; the arguments are those of :func:`llama.read`."""
    a.one_value("use_bidirectional_attention", False)
    return tied(a, turned, **absent)


def tied(a: Attributes, turned: llama.Turned, **absent: Any) -> ModelConfig:
    """What all generations have in common."""
    ffn, has_bias = Gated(activation=_activation(a)), a.flag("attention_bias", False)
    return llama.read(a, turned=turned, ffn=ffn, tied=True, attention_bias=has_bias, scale_embedding=True, **absent)


def read_later(a: Attributes, turned: llama.Turned = rope.read, **absent: Any) -> ModelConfig:
    """What the second and the third have in common: norms on both ends, and a width of their own under the root."""
    a.no_effect(["cache_implementation", "num_logits_to_keep"])
    sizes = {"n_layers": 26, "d_model": 2304, "n_heads": 8, "n_kv_heads": 4, "d_head": 256, "d_ffn": 9216}
    base, under = read(a, turned, **sizes, **absent), a.number(ROOT, 256.0)
    return replace(base, norm_at="both", scale_width=None if under == base.d_head else under)


def renames(config: ModelConfig) -> list[Rename]:
    """Llama's table, with gains stored from 1."""
    return from_one(llama.renames(config))


def _activation(a: Attributes) -> Activation:
    """``hidden_activation`` where it stands, else ``hidden_act``, whose ``gelu`` is the approximation."""
    a.no_effect(["hidden_act"])
    if "hidden_activation" in a:
        return a.choice("hidden_activation", ACTIVATIONS)
    known: dict[str, Activation] = {**ACTIVATIONS, "gelu": "gelu_tanh"}
    return a.choice("hidden_act", known, "gelu_pytorch_tanh")


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
    return [replace(row, how="from_one") if row.ours and "norm" in row.ours[0] else row for row in rows]
