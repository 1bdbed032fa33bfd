"""The registry of every named value of a model, put together from what its parts declare, in order.

A *site* is a place in the forward pass, like ``blocks.2.attn.q``. What is said about a value (its name, shape,
formula, color) is read from here, so there is no second description to drift. :func:`declare` is the forward pass
of :mod:`viz_model.model.transformer` in the same order, with declarations in place of tensors.

Axes: T positions (Tq of queries, Tk of keys), D model width, H heads, G key–value heads, K head
width, F hidden width of the feed-forward layer, V vocabulary, 1 a single value a position.
"""

import difflib
import functools
from collections.abc import Mapping

from viz_model.config import ModelConfig, Side
from viz_model.model import block, heads, inputs, layer_inputs, norms
from viz_model.model.attention_declared import Shared
from viz_model.values.declaration import Role, Scope, Site
from viz_model.values.expression import Expression
from viz_model.values.leaves import Element, Index, Value

__all__ = [
    "OUTPUT",
    "NoSite",
    "Role",
    "Site",
    "find",
    "ids",
    "in_order",
    "leaving",
    "n_neurons",
    "prefix",
    "recorded",
    "seen_from",
    "split_name",
    "split_side",
    "stands_alone",
    "table",
]

OUTPUT = ("logits", "probs")
"""What a decoder makes of the vectors that leave it; of an encoder–decoder too they stand in no stack."""


class NoSite(KeyError):
    """A model makes no value of that name."""


def sizes(config: ModelConfig) -> Mapping[str, int]:
    """The length of every axis that is the same in each run; C are positions that there may be, S kinds of token."""
    return {
        "D": config.d_model,
        "H": config.n_heads,
        "G": config.n_kv_heads,
        "K": config.d_head,
        "F": config.d_ffn,
        "V": config.n_vocab,
        "C": config.n_context,
        "S": config.n_segments,
    }


def declare(config: ModelConfig) -> tuple[Site, ...]:
    """Every value of a model, in the order a token meets them."""
    at = Scope(sizes=sizes(config))
    leaving: Value | None = None
    for side in config.sides:
        leaving = _stack(config, side, at, leaving)
    assert leaving is not None
    out = Scope(sizes=at.sizes, sites=at.sites, stack=f"{config.sides[-1]}." if len(config.sides) > 1 else "")
    heads.declare(config, out, leaving)
    return tuple(at.sites)


def prefix(config: ModelConfig, side: Side) -> str:
    """What the names of a stack's values begin with: nothing in a model of one stack."""
    return f"{side}." if len(config.sides) > 1 else ""


def _stack(config: ModelConfig, side: Side, outside: Scope, source: Value | None) -> Value:
    """Declare a stack; ``source`` is what its cross-attention reads. Returns the vectors that leave it."""
    before = prefix(config, side)
    at = Scope(sizes=outside.sizes, sites=outside.sites, prefix=before, module=f"{side}.", stack=before)
    x = inputs.declare(config, side, at)
    embedded = layer_inputs.declare_embedded(config, side, at, x) if config.d_layer_input else None
    shared: dict[int, Shared] = {}
    kind, schemes = block.kind(config, side), (config.position, *block.other_positions(config, side))
    for i in range(config.depth(side)):
        layer = config.layer(side, i)
        which = schemes.index(layer.position)
        scheme = f"{side}.other_positions.{which - 1}" if which else f"{side}.position"
        own = config.of_layer(side, i)
        here = at.block(i, config.weights_of(i)).with_axis("K", own.d_head).with_axis("G", own.n_kv_heads)
        crossed = source if block.crosses(config, side) else None
        read = None if embedded is None else layer_inputs.OfBlock(embedded, i)
        part = block.Parts(own, side, layer, here, scheme, crossed, shared, i, read)
        x = kind.declare(part, part.stream("in", x))
    if config.norm_place(side) != "post":
        x = norms.declare(config.norm, at.at("final.norm", "final_norm"), x, (at.index("T"), at.index("D")))
    return x


@functools.cache
def in_order(config: ModelConfig) -> tuple[tuple[str, Site], ...]:
    """Full names and declarations of every site of a model, in the order a token meets them.

    In an encoder–decoder the names of each stack begin with its side: ``encoder.blocks.0.attn.q``.
    """
    return tuple((site.full, site) for site in declare(config))


@functools.cache
def table(config: ModelConfig) -> dict[str, Site]:
    """Every site of a model by its full name."""
    return dict(in_order(config))


@functools.cache
def seen_from(config: ModelConfig, side: Side | None) -> dict[str, None]:
    """The names of a model's sites as a run seen from one of its stacks has them, in order; None: full names.

    The output of an encoder–decoder is seen from its decoder, under its full names.
    """
    own = prefix(config, side) if side else ""
    names = [name.removeprefix(own) for name in table(config) if name.startswith(own)]
    return dict.fromkeys([*names, *(OUTPUT if own and side == "decoder" else ())])


@functools.cache
def recorded(config: ModelConfig) -> frozenset[str]:
    """The full names of the values that the forward pass names; all others are derived from them."""
    return frozenset(name for name, site in in_order(config) if not site.derived)


@functools.cache
def n_neurons(config: ModelConfig, side: Side, layer: int) -> int:
    """How many hidden neurons a layer's feed-forward declares, those of all its experts together; 0 is none.

    They are the entries of ``act`` where one matrix, ``down``, reads them.
    """
    act = table(config).get(f"{prefix(config, side)}blocks.{layer}.ffn.act")
    written = f"{side}.blocks.{config.weights_of(layer)}.ffn.down.weight"
    is_read = any(weight.name == written for site in table(config).values() for weight in site.weights)
    return 0 if act is None or not is_read else act.index[-1].size or 0


@functools.cache
def stands_alone(config: ModelConfig, side: Side, layer: int) -> bool:
    """Whether a layer's feed-forward does the same at every position, and reads the vector there and no other."""
    at = f"{prefix(config, side)}blocks.{layer}.ffn."
    own = (site for name, site in in_order(config) if name.startswith(at))
    return not any(_looks_around(site.expression, place) for site in own for place in site.index if place.axis == "T")


def _looks_around(part: Expression, place: Index) -> bool:
    """Whether an expression reads a value at another position than its own, or reckons with the position."""
    if part == place or getattr(part, "over", None) == place:
        return True
    if isinstance(part, Element):
        axes = (axis for axis in part.value.axes if axis != "1")
        return any(
            at != place if axis == "T" else _looks_around(at, place) for axis, at in zip(axes, part.index, strict=True)
        )
    return any(_looks_around(inner, place) for inner in part.parts)


def ids(config: ModelConfig, side: Side) -> str:
    """The full name of what stands at the positions of a stack, [T]."""
    return prefix(config, side) + inputs.kind(config.input_of(side)).ids


def leaving(config: ModelConfig, side: Side) -> str:
    """The full name of the vectors [T, D] that leave a stack, which the output or a decoder reads."""
    last = f"blocks.{config.depth(side) - 1}.resid.out"
    return prefix(config, side) + (last if config.norm_place(side) == "post" else "final.norm.out")


def resid_of(config: ModelConfig, sublayer: str) -> str:
    """The stream once a sub-layer has written to it, named inside its block: ``resid.mid``, at last ``resid.out``."""
    last = "resid.whole" if config.block_scale else "resid.out"
    after = {"attn": "resid.mid", "cross": "resid.cross", "ffn": "resid.ffn" if config.d_layer_input else last}
    return after.get(sublayer, last)


def written(config: ModelConfig, side: Side, sublayer: str) -> str:
    """What is added to the stream for a sub-layer, named inside its block: ``attn.out``, or a norm of it."""
    norm = {"branch": ".norm.out", "both": ".out_norm.out"}.get(config.norm_place(side), ".out")
    return sublayer + norm


def scored(at: str, config: ModelConfig) -> tuple[str, str]:
    """The full names of the queries and keys that scores are made of: plain, normalized or rotated.

    ``at`` is like ``decoder.blocks.0.cross``. Keys that another layer has made are named there.
    """
    q, k = table(config)[f"{at}.scores"].reads
    return q.site, made(k.site, config)


def made(name: str, config: ModelConfig) -> str:
    """The full name of keys or values where they are made: another layer may read them."""
    site = find(name, config)
    read = site.expression if site.derived and site.role in ("key", "value") else None
    return read.value.site if isinstance(read, Element) and read.index == site.index else name


@functools.cache
def norm_reads(name: str, config: ModelConfig) -> tuple[str, ...]:
    """The full names of the values whose sum a norm reads; ``name`` is like ``decoder.blocks.0.attn.norm``."""
    own, found = [table(config)[f"{name}.out"]], dict[str, None]()
    for site in own:  # what the norm makes on its way is followed to what it reads
        names = [value.site for value in site.reads]
        own += [table(config)[each] for each in names if each.startswith(f"{name}.")]
        found |= {each: None for each in names if not each.startswith(f"{name}.")}
    return tuple(found)


def find(name: str, config: ModelConfig) -> Site:
    """The row of the site called ``name``.

    Raises:
        NoSite: this model has no such site; the message suggests the nearest names.
    """
    known = table(config)
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise NoSite(f"no site {name!r} in this model{hint}")


def split_side(name: str) -> tuple[Side | None, str]:
    """``"decoder.blocks.2.attn.q"`` -> ``("decoder", "blocks.2.attn.q")``; other names have side None."""
    side, _, rest = name.partition(".")
    if side == "encoder" or side == "decoder":
        return ("encoder" if side == "encoder" else "decoder"), rest
    return None, name


def split_name(name: str) -> tuple[int | None, str]:
    """``"blocks.2.attn.q"`` -> ``(2, "attn.q")``; a name outside the blocks has layer None."""
    if name.startswith("blocks."):
        _, layer, rest = name.split(".", 2)
        return int(layer), rest
    return None, name
