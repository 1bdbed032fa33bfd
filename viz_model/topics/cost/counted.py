"""Multiplications, counted on what a model declares.

A multiplication here is one product with its addition, as in a matrix product; what norms, softmax
and activations do besides is not counted. Scores are counted for all n·n pairs, as the textbook's
matrices hold them, whatever a mask then hides.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from viz_model.config import LanguageHead, ModelConfig, NormAt, Side
from viz_model.model import sites
from viz_model.topics.cost.growth import Growth
from viz_model.values import counts
from viz_model.values.declaration import Site
from viz_model.values.expression import Expression
from viz_model.values.operations import Sum


class Multiplications(NamedTuple):
    """Of all blocks of a stack, and of what stands above it, for one run over a text."""

    projections: int
    scores: int
    position: int
    """What a scheme multiplies in a block: for each pair, such as a query with the vector of a distance, or for a
    token, such as a sink or a gate of its key."""
    mixing: int
    cross: int
    ffn: int
    head: int
    places: int = 0
    """What a feed-forward multiplies for each pair of positions, where it mixes all of them."""
    inputs: int = 0
    """What second embeddings take, in blocks and before them."""

    @property
    def pairs(self) -> int:
        """What is done for all pairs: scores, with what position adds to them, mixing, and places."""
        return self.scores + self.position + self.mixing + self.places

    @property
    def total(self) -> int:
        return sum(self)


def group(site: Site) -> str:
    """The field of :class:`Multiplications` that a value's multiplications belong to, by its name, axes and role."""
    part, _, step = site.name.partition(".")
    if part == "input" or step.startswith("second"):
        return "inputs"
    if part == "ffn":
        return "places" if _runs_over_positions(site.expression) else "ffn"
    if part == "cross":
        return part
    if part == "patches":
        return "projections"
    if part not in ("attn", "embed"):
        return "head"
    if step == "z":
        return "mixing"
    if step == "scores":
        return "scores"
    if part == "attn" and (site.role == "position" or {"Tq", "Tk"} <= set(site.axes)):
        return "position"
    return "projections"


def _runs_over_positions(expression: Expression) -> bool:
    """Whether it sums over all positions of a run."""
    return any(isinstance(part, Sum) and part.over.size is None for part in expression.walk())


@functools.lru_cache(maxsize=64)
def _multiplying(config: ModelConfig, side: Side) -> Mapping[int | None, tuple[Site, ...]]:
    """The values of a stack that matrix products make, by layer; None are those outside its blocks."""
    found: dict[int | None, list[Site]] = {layer: [] for layer in (None, *range(config.depth(side)))}
    for full, site in sites.in_order(config):
        own, name = sites.split_side(full)
        if (own or config.sides[-1]) == side and site.expression.products(lambda index: 1):
            found[sites.split_name(name)[0]].append(site)
    return {layer: tuple(made) for layer, made in found.items()}


def _by_name(made: Iterable[Site], side: Side, length: int, n_source: int) -> Counter[tuple[str, str]]:
    """Multiplications by group and name."""
    each = counts.lengths(lambda stack: n_source if side == "decoder" and stack == "encoder." else length)
    found: Counter[tuple[str, str]] = Counter()
    for site in made:
        found[group(site), site.name] += counts.multiplications(site, each)
    return found


def _by_part(config: ModelConfig, side: Side, length: int, n_source: int) -> Counter[tuple[str, str]]:
    """Of a whole stack; of layers that are alike one is counted."""
    by_layer = _multiplying(config, side)
    total = _by_name(by_layer[None], side, length, n_source)
    alike = Counter(config.layer(side, layer) for layer in range(config.depth(side)))
    for layer in range(config.depth(side)):
        if copies := alike.pop(config.layer(side, layer), 0):
            found = _by_name(by_layer[layer], side, length, n_source)
            total.update({key: copies * n for key, n in found.items()})
    return total


def _grouped(found: Mapping[tuple[str, str], int]) -> Multiplications:
    total: Counter[str] = Counter()
    for (name, _), n in found.items():
        total[name] += n
    return Multiplications(**{name: total[name] for name in Multiplications._fields})


def count(config: ModelConfig, side: Side, length: int, n_source: int = 0) -> Multiplications:
    """Multiplications of one run of a stack over ``length`` tokens (Vaswani et al. 2017, table 1, without the O).

    Args:
        n_source: how many vectors the decoder of an encoder–decoder attends to.
    """
    return _grouped(_by_part(config, side, length, n_source))


def of_block(config: ModelConfig, side: Side, layer: int, length: int = 1, n_source: int = 0) -> Multiplications:
    """Multiplications of one block; of a single token the projections are 4·D² and the pairs 2·D where G·K = H·K = D.

    The feed-forward layer takes 2·D·F (8·D² at F = 4·D), or 3·D·F with a gate.
    """
    return _grouped(_by_name(_multiplying(config, side)[layer], side, length, n_source))


def visible_pairs(length: int, window: int, *, two_way: bool) -> int:
    """How many (query, key) pairs a mask leaves: n², n·(n+1)/2, or about n·window."""
    seen = min(window or length, length)
    one_way = length * seen - seen * (seen - 1) // 2
    return 2 * one_way - length if two_way else one_way


@functools.lru_cache(maxsize=64)
def growth(config: ModelConfig, side: Side, part: str, layer: int | None = None, n_source: int = 0) -> Growth:
    """How a part of :class:`Multiplications`, or all pairs, grows with the length: of a stack, or of one block."""
    if layer is None:
        return Growth(lambda length: getattr(count(config, side, length, n_source), part))
    return Growth(lambda length: getattr(of_block(config, side, layer, length, n_source), part))


def visible(config: ModelConfig, side: Side, length: int) -> int:
    """Multiplications of all pairs, had every hidden one been left out."""
    alike = Counter(config.layer(side, layer) for layer in range(config.depth(side)))
    first = {config.layer(side, layer): layer for layer in range(config.depth(side))}
    return sum(
        copies * growth(config, side, "pairs", first[layer]).masked(length, layer.window, two_way=side == "encoder")
        for layer, copies in alike.items()
    )


class Crossings(NamedTuple):
    """Lengths from which on all pairs cost more: than the feed-forward layer, than the rest of the block."""

    ffn: float
    block: float


def crossings(config: ModelConfig, side: Side) -> Crossings:
    """Where 2·n²·H·K passes what is linear in n: at n = 4·D for F = 4·D and no gate, and at n = 6·D."""
    pairs, ffn = growth(config, side, "pairs"), growth(config, side, "ffn")
    rest = Growth(lambda length: (made := count(config, side, length)).ffn + made.projections)
    return Crossings(pairs.passes(ffn), pairs.passes(rest))


class Generated(NamedTuple):
    """Multiplications of saying n tokens one by one, with a KV cache and without."""

    cached: int
    uncached: int


def generating(config: ModelConfig, length: int, n_source: int = 0) -> Generated:
    """Σ over t = 1 … n of one step at a text of t tokens; logits are only computed at its last position.

    With the cache a step reads one token, without it all t. The run of an encoder, the same for
    both, is in neither.

    Raises:
        ValueError: an encoder generates nothing.
    """
    if config.kind == "encoder":
        raise ValueError("an encoder sees the whole text at once: it generates nothing")
    source = count(config, "decoder", 0, n_source).cross  # keys and values of the source, once
    head = length * count(config, "decoder", 1, n_source).head
    whole, step = _steps(config, n_source)
    return Generated(
        cached=step.added_up(length) + head + source, uncached=whole.added_up(length) + head + length * source
    )


@functools.lru_cache(maxsize=64)
def _steps(config: ModelConfig, n_source: int) -> tuple[Growth, Growth]:
    """Of all blocks, but for keys and values of the source: a text of t tokens, and its last token alone."""

    def blocks(length: int) -> int:
        made = count(config, "decoder", length, n_source)
        return made.total - made.head - count(config, "decoder", 0, n_source).cross

    whole = Growth(blocks)
    return whole, whole.alone


class Arrangement(NamedTuple):
    """A source and a target in one stack or in two.

    Multiplications linear in the lengths and those of pairs; pairs that a layer's masks leave; weights of the blocks.
    """

    linear: int
    pairs: int
    seen: int
    weights: int

    @property
    def total(self) -> int:
        return self.linear + self.pairs


def arrangements(config: ModelConfig, n_source: int, n_target: int) -> dict[str, Arrangement]:
    """Source and target as one text of a decoder, or in an encoder and a decoder, of equal width.

    Every token passes ``n_layers`` blocks either way, so that the encoder–decoder has twice as
    many blocks (Raffel et al. 2020, section 3.2.2). Embedding and head are left out, being the same.
    """
    n, m = n_source, n_target
    plain = replace(config, kind="decoder", head=LanguageHead(), n_segments=0, start_id=None)
    place: NormAt = "post" if plain.norm_at == "post" else "pre"  # the others are of one stack; norms cost no products
    changes: dict[str, Any] = {"norm_at": place, "parallel": False, "shared_norm": False, "first_norm": True}
    changes |= {"scale_width": None, "score_cap": None}
    both = replace(plain, kind="encoder_decoder", n_encoder_layers=config.n_layers, start_id=0, **changes)
    return {
        "decoder": _arranged(plain, [_by_part(plain, "decoder", n + m, 0)], visible_pairs(n + m, 0, two_way=False)),
        "encoder_decoder": _arranged(
            both,
            [_by_part(both, "encoder", n, 0), _by_part(both, "decoder", m, n)],
            n * n + visible_pairs(m, 0, two_way=False) + n * m,
        ),
    }


_OF_PAIRS = ("scores", "position", "mixing")
_ACROSS = ("cross.scores", "cross.z")


def _arranged(config: ModelConfig, stacks: Iterable[Mapping[tuple[str, str], int]], seen: int) -> Arrangement:
    inside = [(where, name, n) for found in stacks for (where, name), n in found.items() if where != "head"]
    pairs = sum(n for where, name, n in inside if where in _OF_PAIRS or name in _ACROSS)
    held = (weight for weight, _ in counts.weights(site for _, site in sites.in_order(config)).values())
    matrices = sum(counts.entries(weight) for weight in held if ".blocks." in weight.name and len(weight.stored) > 1)
    return Arrangement(sum(n for *_, n in inside) - pairs, pairs, seen, matrices)


def recurrent(config: ModelConfig, length: int) -> int:
    """A GRU of the model's width over a text: three gates, each D×D twice (Cho et al. 2014)."""
    return length * 6 * config.d_model**2


def hops(length: int, window: int) -> int | None:
    """Attention layers that news from one end of a text takes to the other: 1, or several with a window.

    None with a window of 1, which sees nothing but itself. A recurrent network takes n − 1 steps
    (Vaswani et al. 2017, table 1, "maximum path length").
    """
    if not window or length <= window:
        return min(1, length - 1)
    return None if window == 1 else -(-(length - 1) // (window - 1))
