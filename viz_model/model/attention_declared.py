"""Attention as it is declared: the values of :mod:`viz_model.model.attention`, with expressions in place of tensors."""

import math
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from viz_model.config import Attending, Latent, Layer, Mixer, ModelConfig, RMSNorm, Side
from viz_model.model import masks, norms, positions
from viz_model.values.declaration import Role, Scope, Vector, inlined
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Softmax, Sum, sigmoid, sqrt, within

_PLAIN = Attending()

Projected: TypeAlias = tuple[Value, Value, Value]
"""Queries, keys and values, declared."""
Shared: TypeAlias = tuple[Value, Value]
"""Keys as scores read them, and values."""


def declare(
    config: ModelConfig,
    side: Side,
    layer: Layer,
    at: Scope,
    x: Vector,
    scheme: str,
    projected: Projected | None = None,
    shared: Shared | None = None,
) -> tuple[Value, Shared]:
    """Declare the self-attention of a layer that reads ``x``; also the keys and values that it reads.

    Args:
        scheme: the module of its position scheme.
        projected: made otherwise than by one matrix each.
        shared: keys as scores read them, and values, that another layer made.
    """
    h, i, j = at.index("H"), at.index("Tq"), at.index("Tk")
    kind, of = positions.kind(layer.position), at.of(scheme)
    if shared is not None:
        q = _projected(config, at, x, "q")
        k, v = _read(at, shared)
    else:
        q, k, v = projected or _projections(config, at, x, x, kind=layer.mixer)
    q = kind.declare_rotated(layer.position, of, q, "q", (h, i, at.index("K")))
    if shared is None:
        k = kind.declare_rotated(layer.position, of, k, "k", (at.index("G"), j, at.index("K")))
    scores = _scores(config, at, q, k, (h, i, j))
    bias = kind.declare_bias(layer.position, of, (h, i, j), two_way=side == "encoder")
    if bias is None:
        keys = OfQueryHeads(config, k)
        bias = kind.declare_content_bias(layer.position, of, q, keys, (h, i, j), partial(_scaled, config))
    sink = _sink(at, (h, i)) if config.attention_sink else None
    mask, label = masks.declared(i, j, window=layer.window, two_way=side == "encoder")
    if isinstance(layer.mixer, Latent):
        at = at.with_axis("K", layer.mixer.d_value)
    gate = _gate(config, at, x, (h, i, at.index("K"))) if config.attention_gate else None
    return _from_scores(config, at, scores, bias, mask, label, v, (h, i, j), sink, gate), (k, v)


def _read(at: Scope, shared: Shared) -> Shared:
    """Declare that keys and values are those of another layer."""
    made, index = [], (at.index("G"), at.index("Tk"), at.index("K"))
    for letter, value in zip("kv", shared, strict=True):
        name, label = value.site.rpartition(".")[2], f"{_PLURAL[letter]} that an earlier layer has made"
        made.append(
            at.value(name, index, value[index], symbol=value.symbol, label=label, role=_ROLES[letter], derived=True)
        )
    return made[0], made[1]


def _gate(config: ModelConfig, at: Scope, x: Vector, index: tuple[Index, ...]) -> Value:
    (h, t, c), d = index, at.index("D")
    total: Expression = Sum(d, x[t, d] * at.weight("gate.weight", "W^G", ("H", "K"), "D")[h, c, d])
    if config.attention_bias:
        total = total + at.weight("gate.bias", "b^G", ("H", "K"))[h, c]
    return at.value("gate", index, total, symbol="g", label="gate before the activation", role="value")


def declare_cross(config: ModelConfig, at: Scope, x: Vector, source: Vector) -> Value:
    """Declare a cross-attention whose queries read ``x``, and whose keys and values read ``source``."""
    h, i, j = at.index("H"), at.index("Tq"), at.index("Tk", stack="encoder.")
    q, k, v = _projections(config, at, x, source, "encoder.")
    scores = _scores(config, at, q, k, (h, i, j))
    mask, label = masks.declared(i, j, window=0, two_way=True)
    return _from_scores(config, at, scores, None, mask, label, v, (h, i, j))


@dataclass(frozen=True)
class OfQueryHeads:
    """Keys that are read by query heads, each those of its group."""

    config: ModelConfig
    keys: Value

    def __getitem__(self, index: tuple[Expression, ...]) -> Expression:
        head, where, c = index
        return self.keys[group(self.config, head), where, c]


def _sink(at: Scope, index: tuple[Index, ...]) -> Value:
    return at.value(
        "sink", index, at.weight("sink", "s", "H")[index[0]],
        symbol="s", label="logit of no key", role="pattern", derived=True,
    )  # fmt: skip


_PLURAL = {"q": "queries", "k": "keys", "v": "values"}
_ROLES: dict[str, Role] = {"q": "query", "k": "key", "v": "value"}


def _projections(
    config: ModelConfig,
    at: Scope,
    x: Vector,
    source: Vector,
    keys_of: str | None = None,
    kind: Mixer = _PLAIN,
) -> Projected:
    """Queries of ``x``, keys and values of ``source``, normalized where the model does."""
    kind = kind if isinstance(kind, Attending) else _PLAIN
    q, k = _projected(config, at, x, "q"), _projected(config, at, source, "k", keys_of)
    index = at.index("G"), at.index("Tk", stack=keys_of), at.index("K")
    if kind.values_of_keys:
        plain = next(value for value in _before(at, k) if value.site == f"{at.prefix}k")
        return q, k, _mixable(config, kind, at, plain, index)
    if kind.value_norm:
        return q, k, _mixable(config, kind, at, _projected(config, at, source, "v", keys_of, "v_plain"), index)
    return q, k, _projected(config, at, source, "v", keys_of)


def _before(at: Scope, value: Value) -> tuple[Value, ...]:
    """A value, and those that it is made of in one step."""
    return value, *next(site for site in at.sites if site.full == value.site).reads


def _projected(
    config: ModelConfig, at: Scope, read: Vector, letter: str, stack: str | None = None, name: str = ""
) -> Value:
    """Queries, keys or values of what is read; queries and keys normalized, where the model does."""
    head, axis = ("H", "Tq") if letter == "q" else ("G", "Tk")
    n, t, c, d = at.index(head), at.index(axis, stack=stack), at.index("K"), at.index("D")
    weight = at.weight(f"{letter}.weight", f"W^{letter.upper()}", (head, "K"), "D")
    total: Expression = Sum(d, read[t, d] * weight[n, c, d])
    if config.attention_bias:
        total = total + at.weight(f"{letter}.bias", f"b^{letter.upper()}", (head, "K"))[n, c]
    symbol, label = (rf"\tilde{{{letter}}}", "values before their norm") if name else (letter, _PLURAL[letter])
    value = at.value(name or letter, (n, t, c), total, symbol=symbol, label=label, role=_ROLES[letter])
    return _normed(config, at, value, letter, (n, t, c)) if config.qk_norm and letter != "v" else value


def _mixable(config: ModelConfig, kind: Attending, at: Scope, x: Value, index: tuple[Index, ...]) -> Value:
    """The values that are mixed, of what a matrix made."""
    made: Expression = x[index]
    if kind.value_norm:
        head, t, c = index
        mean = Sum(c, made**2) / at.size("K")
        scale = at.value(
            "v_scale", (head, t), sqrt(mean + Setting(r"\varepsilon", config.norm.eps, "config")),
            symbol=r"\sigma^{v}", label="root mean square of a head's values", role="value", derived=True,
        )  # fmt: skip
        made = made / scale[head, t]
    return at.value("v", index, made, symbol="v", label=_PLURAL["v"], role="value")


def _normed(config: ModelConfig, at: Scope, x: Value, letter: str, index: tuple[Index, ...]) -> Value:
    if config.qk_norm_over == "heads" and isinstance(config.norm, RMSNorm):
        made = norms.QKNorm.declare_over_heads(config.norm, at, x, letter, index)
    else:
        scratch = at.apart(module=f"qk_norm.{letter}")
        made = inlined(norms.declare(config.norm, scratch, x, index), scratch.sites)
    return at.value(
        f"{letter}_normed", index, made,
        symbol=rf"\hat{{{letter}}}", label=f"{_PLURAL[letter]}, normalized", role=_ROLES[letter],
    )  # fmt: skip


def _scores(config: ModelConfig, at: Scope, q: Value, k: Value, index: tuple[Index, ...]) -> Value:
    h, i, j = index
    c = at.index("K")
    # Query head h reads the key–value head of its group (Ainslie et al. 2023, figure 2).
    product = Sum(c, q[h, i, c] * OfQueryHeads(config, k)[h, j, c])
    return at.value(
        "scores", index, _scaled(config, product), symbol="S", label="attention scores", role="pattern", derived=True
    )  # fmt: skip


def _scaled(config: ModelConfig, product: Expression) -> Expression:
    """What scores are, of a product with a query."""
    if not config.scale_scores:
        return product
    if config.scale_width is not None:
        root = rf"\sqrt{{{config.scale_width:g}}}"
        return product / Setting(root, math.sqrt(config.scale_width), "config", f"{config.scale_width}**0.5")
    return product / Setting(r"\sqrt{d_k}", math.sqrt(config.d_head), "size", f"{config.d_head}**0.5")


def group(config: ModelConfig, head: Expression) -> Expression:
    """The key–value head that a query head reads."""
    return head if config.n_kv_heads == config.n_heads else head // (config.n_heads // config.n_kv_heads)


def _from_scores(
    config: ModelConfig,
    at: Scope,
    scores: Value,
    bias: Value | None,
    mask: Expression,
    mask_label: str,
    v: Value,
    index: tuple[Index, ...],
    sink: Value | None = None,
    gate: Value | None = None,
) -> Value:
    """From the scores to what attention writes."""
    h, i, j = index
    c, t, d = at.index("K"), at.index("Tq"), at.index("D")
    if config.score_cap is not None:
        label = "attention scores, kept within the cap"
        scores = at.value(
            "capped", index, within(config.score_cap, scores[index]),
            symbol=r"\bar{S}", label=label, role="pattern", derived=True,
        )  # fmt: skip
    m = at.value("mask", index, mask, symbol="M", label=mask_label, role="pattern", derived=True)
    total: Expression = scores[index]
    for term in (bias, m):
        total = total if term is None else total + term[index]
    masked = at.value(
        "masked", index, total, symbol=r"\tilde{S}", label="masked scores", role="pattern", derived=True
    )  # fmt: skip
    pattern = at.value(
        "pattern", index, Softmax(j, masked[index], None if sink is None else sink[h, i]),
        symbol="A", label="attention pattern", role="pattern", derived=True,
    )  # fmt: skip
    z = at.value(
        "z", (h, i, c), Sum(j, pattern[index] * v[group(config, h), j, c]),
        symbol="z", label="values mixed by attention", role="value",
    )  # fmt: skip
    if gate is not None:
        z = at.value(
            "z_gated", (h, i, c), z[h, i, c] * sigmoid(gate[h, i, c]),
            symbol=r"\tilde{z}", label="values mixed by attention, gated", role="value",
        )  # fmt: skip
    w_o = at.weight("o.weight", "W^O", "D", ("H", "K"))
    head_out = at.value(
        "head_out", (h, i, d), Sum(c, z[h, i, c] * w_o[d, h, c]),
        symbol="o", label="what each head writes", role="value", derived=True,
    )  # fmt: skip
    written: Expression = Sum(h, head_out[h, t, d].with_rounding())
    if config.has_out_bias:
        written = written + at.weight("o.bias", "b^O", "D")[d]
    symbol = "c" if at.own == "cross." else "a"
    return at.value("out", (t, d), written, symbol=symbol, label="attention output", role="pattern")
