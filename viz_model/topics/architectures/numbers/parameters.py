"""How many numbers a model has learnt, and where they are: counted on its modules, and by formula from its config.

A table that two modules share (a tied unembedding) is counted once, where it is met first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import nn

from viz_model import config as variants
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer

Part = Literal["embedding", "positions", "attention", "cross", "ffn", "norms", "head"]
PARTS: tuple[Part, ...] = ("embedding", "positions", "attention", "cross", "ffn", "norms", "head")

_OWNERS: dict[str, Part] = {
    "embedding": "embedding",
    "segment": "embedding",
    "position": "positions",
    "attn": "attention",
    "cross": "cross",
    "ffn": "ffn",
}


def part(name: str) -> Part:
    """The part that a parameter belongs to; ``name`` is like ``decoder.blocks.0.attn.q.weight``, or within a block.

    Raises:
        KeyError: it belongs to none.
    """
    steps = name.split(".")
    if steps[0] == "head":
        return "head"
    if any(step.endswith("norm") for step in steps):
        return "norms"
    for step in steps:
        if step in _OWNERS:
            return _OWNERS[step]
    raise KeyError(name)


def count(module: nn.Module) -> dict[Part, int]:
    """Parameters of a model, or of one of its blocks, by part."""
    found: dict[Part, int] = dict.fromkeys(PARTS, 0)
    for name, weight in module.named_parameters():  # each tensor once, under its first name
        found[part(name)] += weight.numel()
    return found


@functools.lru_cache(maxsize=64)
def shapes(config: ModelConfig) -> Transformer:
    """A model of which there are only the shapes: nothing is allocated, however large it would be."""
    with torch.device("meta"):
        return Transformer(config)


# The module tree


class Node(NamedTuple):
    """A module: its name, its class, and the shapes of its own parameters by name.

    ``size`` is the number of parameters in it and below it, over all ``copies``: modules of a
    list that are built alike are one node, named like "0–3". ``shared`` names the parameter
    whose table it uses, in place of one of its own. ``computed`` are shapes of tables that are
    computed from the config and never learnt.
    """

    name: str
    kind: str
    shapes: Mapping[str, tuple[int, ...]]
    size: int
    copies: int
    shared: str | None
    computed: Mapping[str, tuple[int, ...]]
    children: tuple[Node, ...]


def tree(module: nn.Module, name: str = "model") -> Node:
    """A module with all that is in it, as ``print(module)`` lists it."""
    return _node(module, name, "", {})


def _node(module: nn.Module, name: str, path: str, seen: dict[int, str]) -> Node:
    own = dict(module.named_parameters(recurse=False))
    shared = next((seen[id(weight)] for weight in own.values() if id(weight) in seen), None)
    counted = sum(weight.numel() for weight in own.values() if id(weight) not in seen)
    seen.update({id(weight): f"{path}{key}" for key, weight in own.items() if id(weight) not in seen})
    children = [_node(child, key, f"{path}{key}.", seen) for key, child in module.named_children()]
    return Node(
        name=name,
        kind=type(module).__name__,
        shapes={key: tuple(weight.shape) for key, weight in own.items()},
        size=counted + sum(child.size for child in children),
        copies=1,
        shared=shared,
        computed={key: tuple(table.shape) for key, table in module.named_buffers(recurse=False)},
        children=_folded(children) if isinstance(module, nn.ModuleList) else tuple(children),
    )


def _folded(children: list[Node]) -> tuple[Node, ...]:
    """Neighbours that are alike in all but their name, as one."""
    found: list[Node] = []
    runs: list[list[Node]] = []
    for child in children:
        if runs and runs[-1][0]._replace(name="") == child._replace(name=""):
            runs[-1].append(child)
        else:
            runs.append([child])
    for run in runs:
        first, n = run[0], len(run)
        name = first.name if n == 1 else f"{first.name}–{run[-1].name}"
        found.append(first._replace(name=name, size=first.size * n, copies=n))
    return tuple(found)


def leaves(node: Node, path: str = "") -> list[tuple[str, Node]]:
    """The modules that have parameters of their own, in order, by their path below ``node``."""
    found = [(path, node)] if node.shapes else []
    for child in node.children:
        found += leaves(child, f"{path}.{child.name}" if path else child.name)
    return found


# Formulas


class Term(NamedTuple):
    """``times`` · the product of sizes; (2, "DF") is 2·D·F."""

    times: int
    letters: str


class Row(NamedTuple):
    """One kind of thing that has parameters: ``copies`` of it, each the sum of ``terms``."""

    part: Part
    key: str
    terms: tuple[Term, ...]
    copies: int


def sizes(config: ModelConfig) -> dict[str, int]:
    """The sizes that formulas are made of, by letter. T is the context, B the buckets, S the segments."""
    return {
        "V": config.n_vocab,
        "D": config.d_model,
        "H": config.n_heads,
        "G": config.n_kv_heads,
        "K": config.d_head,
        "F": config.d_ffn,
        "T": config.n_context,
        "S": config.n_segments,
        "B": config.position.buckets if isinstance(config.position, variants.T5Bias) else 0,
    }


def value(row: Row, config: ModelConfig) -> int:
    """One copy's parameters."""
    letters = sizes(config)
    return sum(term.times * math.prod(letters[letter] for letter in term.letters) for term in row.terms)


def formulas(config: ModelConfig) -> tuple[Row, ...]:
    """Everything that has parameters, in the order a token meets it. Σ copies · value is the model's size."""
    blocks = sum(config.depth(side) for side in config.sides)
    crossed = config.n_layers if config.kind == "encoder_decoder" else 0
    stacks = len(config.sides)
    per_norm = {variants.LayerNorm: 2, variants.RMSNorm: 1, variants.NoNorm: 0}[type(config.norm)]
    norms = 2 * blocks + crossed + stacks * (int(config.embedding_norm) + int(config.norm_at == "pre"))
    attention = [Term(1, "DHK"), Term(2, "DGK"), Term(1, "HKD")]
    if config.attention_bias:
        attention += [Term(1, "HK"), Term(2, "GK"), Term(1, "D")]
    is_gated = isinstance(config.ffn, variants.Gated)
    ffn = [Term(3 if is_gated else 2, "DF")]
    if config.ffn.bias:
        ffn += [Term(2 if is_gated else 1, "F"), Term(1, "D")]
    rows = [Row("embedding", "embedding", (Term(1, "VD"),), 1)]
    if config.n_segments:
        rows.append(Row("embedding", "segments", (Term(1, "SD"),), stacks))
    match config.position:
        case variants.Learned():
            rows.append(Row("positions", "learned", (Term(1, "TD"),), stacks))
        case variants.T5Bias():
            rows.append(Row("positions", "buckets", (Term(1, "BH"),), stacks))
    rows.append(Row("attention", "attention", tuple(attention), blocks))
    if crossed:
        rows.append(Row("cross", "cross", tuple(attention), crossed))
    rows.append(Row("ffn", "ffn", tuple(ffn), blocks))
    if per_norm:
        rows.append(Row("norms", "norms", (Term(per_norm, "D"),), norms))
    if per_norm and config.qk_norm:
        rows.append(Row("norms", "qk_norms", (Term(2 * per_norm, "K"),), blocks + crossed))
    head = _head(config, per_norm)
    return (*rows, Row("head", "head", head, 1)) if head else tuple(rows)


def _head(config: ModelConfig, per_norm: int) -> tuple[Term, ...]:
    matrix = () if config.tie_embeddings else (Term(1, "VD"),)
    match config.head:
        case variants.LanguageHead(bias=bias):
            return (*matrix, Term(1, "V")) if bias else matrix
        case variants.MaskedHead():
            return (Term(1, "DD"), Term(1 + per_norm, "D"), *matrix, Term(1, "V"))
        case variants.NoHead():
            return ()


# The KV cache


class Cache(NamedTuple):
    """Bytes of keys and values that a decoder keeps for a text."""

    self_attention: int
    cross_attention: int

    @property
    def total(self) -> int:
        return self.self_attention + self.cross_attention


def cache(config: ModelConfig, length: int, n_kv_heads: int, n_bytes: int, n_source: int = 0) -> Cache:
    """What a decoder keeps after reading ``length`` tokens, had it ``n_kv_heads`` (Shazeer 2019, section 2.4).

    A key and a value of K numbers for each layer, key–value head and position: 2·L·G·K·T. A layer
    that sees a window needs no more than the window. The keys and values of ``n_source`` positions
    of an encoder are kept too; they do not grow while the decoder speaks.

    Raises:
        ValueError: an encoder reads a text once, and keeps nothing.
    """
    if config.kind == "encoder":
        raise ValueError("an encoder has no KV cache: it reads its text once")
    a_position = 2 * n_kv_heads * config.d_head * n_bytes
    windows = (config.window("decoder", layer) for layer in range(config.n_layers))
    kept = sum(min(length, window or length) for window in windows)
    crossed = config.n_layers * n_source if config.kind == "encoder_decoder" else 0
    return Cache(a_position * kept, a_position * crossed)
