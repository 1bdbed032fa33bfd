"""How many numbers a model has learned, and where they are: counted on its modules, and on what it declares.

A table that two modules share (a tied unembedding) is counted once, where it is met first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from torch import nn

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.values import counts
from viz_model.values.declaration import Site
from viz_model.values.leaves import Weight

Part = Literal["embedding", "positions", "attention", "cross", "ffn", "norms", "head"]
PARTS: tuple[Part, ...] = ("embedding", "positions", "attention", "cross", "ffn", "norms", "head")

_OWNERS: dict[str, Part] = {
    "embedding": "embedding",
    "patches": "embedding",
    "segment": "embedding",
    "embedded": "embedding",
    "input": "embedding",
    "scale": "norms",
    "position": "positions",
    "other_positions": "positions",
    "project": "embedding",
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
def declared(config: ModelConfig) -> Mapping[str, tuple[Weight, Site]]:
    """The weights of a model by name, each with the first value that reads it."""
    return counts.weights(site for _, site in sites.in_order(config))


@functools.lru_cache(maxsize=256)
def of_config(config: ModelConfig, inside: str = "") -> Mapping[Part, int]:
    """Parameters of a model by part, counted on what it declares; ``inside`` is the name of a module.

    Nothing is allocated, however large the model would be.
    """
    found: dict[Part, int] = dict.fromkeys(PARTS, 0)
    for name, (weight, _) in declared(config).items():
        if name.startswith(f"{inside}." if inside else ""):
            found[part(name)] += counts.entries(weight)
    return found


def short(n: float) -> str:
    """A large number to three digits: 849, 3.41 M, 14.8 B."""
    for limit, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 999.5 * limit else f"{n / limit:,.0f} {unit}"
    return f"{n:,.0f}"


# The module tree


class Node(NamedTuple):
    """A module: its name, its class, and the shapes of its own parameters by name.

    ``size`` is the number of parameters in it and below it, over all ``copies``: modules of a
    list that are built alike are one node, named like "0–3". ``shared`` names the parameter
    whose table it uses, in place of one of its own. ``computed`` are shapes of tables that are
    computed from the config and never learned.
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
    """Neighbors that are alike in all but their name, as one."""
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
    """``times`` · the product of ``axes``, each a letter and a length; 2 of D and F are 2·D·F."""

    times: int
    axes: tuple[tuple[str, int], ...]

    @property
    def value(self) -> int:
        return self.times * math.prod(length for _, length in self.axes)


class Row(NamedTuple):
    """One kind of thing that has parameters: ``copies`` of it, each the sum of ``terms``.

    ``site`` is the first value that is made with it.
    """

    part: Part
    key: str
    site: Site
    terms: tuple[Term, ...]
    copies: int

    @property
    def value(self) -> int:
        """One copy's parameters."""
        return sum(term.value for term in self.terms)


def formulas(config: ModelConfig) -> tuple[Row, ...]:
    """Everything that has parameters, part by part. Σ copies · value is the model's size."""
    owned: dict[str, list[Weight]] = {}
    first: dict[str, Site] = {}
    for weight, site in declared(config).values():
        owner = _owner(weight.name)
        owned.setdefault(owner, []).append(weight)
        first.setdefault(owner, site)
    alike: dict[tuple[Part, str, tuple[Term, ...]], list[str]] = {}
    for owner, held in owned.items():
        alike.setdefault((part(held[0].name), _key(owner), _terms(held)), []).append(owner)
    rows = (Row(part_, key, first[owners[0]], terms, len(owners)) for (part_, key, terms), owners in alike.items())
    return tuple(sorted(rows, key=lambda row: PARTS.index(row.part)))


def _owner(name: str) -> str:
    """The module that a row of the formulas stands for: a norm, an attention layer, a table."""
    steps = name.split(".")
    norm = [n for n, step in enumerate(steps) if step.endswith("norm")]
    owner = [n for n, step in enumerate(steps) if step in _OWNERS]
    here = 0 if steps[0] == "head" else (norm or owner)[0]
    return ".".join(steps[: here + 2 if steps[here] == "other_positions" else here + 1])


def _key(owner: str) -> str:
    if "other_positions" in owner:
        return "other_positions"
    step = owner.rpartition(".")[2]
    return "norm" if step.endswith("_norm") and step != "qk_norm" else step


_ORDER = "VSCBDHGKF"


def _terms(weights: Iterable[Weight]) -> tuple[Term, ...]:
    """Tables of the same axes are one term."""
    times: dict[tuple[tuple[str, int], ...], int] = {}
    for weight in weights:
        sizes = [size for group in weight.sizes for size in group]
        axes = tuple(sorted(zip(weight.axes, sizes, strict=True), key=lambda axis: _ORDER.find(axis[0])))
        times[axes] = times.get(axes, 0) + 1
    return tuple(Term(n, axes) for axes, n in times.items())
