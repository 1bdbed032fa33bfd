"""The registry of every named value in a run: its axes, its formula, when it exists, its order.

A *site* is a place in the forward pass, like ``blocks.2.attn.q``. What a page says about a value
(its name, shape, formula, colour) is read from here, so there is no second description to drift.
Read this file from top to bottom and you have followed a token through the model: each function
yields the rows of one station, and its ``if`` says which models have them.

Axes: T positions (Tq of queries, Tk of keys), D model width, H heads, G key–value heads, K head
width, F hidden width of the feed-forward layer, V vocabulary, 1 a single value a position.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from viz_model import config as variants
from viz_model.config import ModelConfig, Side

Role = Literal["residual", "position", "query", "key", "value", "pattern", "ffn", "norm", "token", "output"]


@dataclass(frozen=True, kw_only=True)
class Site:
    """One row of the registry.

    ``derived`` values are not kept by a run but rebuilt from what it kept, when somebody looks.
    ``formula`` is LaTeX; bold capitals are weights, x is what the sub-layer reads.
    """

    name: str
    axes: tuple[str, ...]
    formula: str
    label: str
    role: Role
    derived: bool = False

    def shape(self, config: ModelConfig, n_queries: int, n_keys: int | None = None) -> tuple[int, ...]:
        """The sizes of :attr:`axes` in a run of ``n_queries`` positions.

        ``n_keys`` is the length of what is attended to, where that is another sequence.
        """
        sizes = {
            "T": n_queries,
            "Tq": n_queries,
            "Tk": n_queries if n_keys is None else n_keys,
            "D": config.d_model,
            "H": config.n_heads,
            "G": config.n_kv_heads,
            "K": config.d_head,
            "F": config.d_ffn,
            "V": config.n_vocab,
            "1": 1,
        }
        return tuple(sizes[axis] for axis in self.axes)


_TD, _TF, _TQD = ("T", "D"), ("T", "F"), ("Tq", "D")
_HTK, _HTT = ("H", "Tq", "K"), ("H", "Tq", "Tk")
_IN, _MID, _CROSS, _OUT = (rf"\mathbf{{r}}^{{\text{{{name}}}}}" for name in ("in", "mid", "cross", "out"))
_A, _C, _F = r"\mathbf{a}", r"\mathbf{c}", r"\mathbf{f}"
_ACTIVATIONS = {
    "relu": r"\max(0, {0})",
    "gelu": r"{0} \odot \Phi({0})",
    "gelu_tanh": r"\mathrm{{GELU}}_{{\tanh}}({0})",
    "silu": r"{0} \odot \sigma({0})",
}


@functools.cache
def rows(config: ModelConfig) -> tuple[tuple[str, Site], ...]:
    """Full names and rows of every site of a model, in the order a token meets them.

    In an encoder–decoder the names of each stack begin with its side: ``encoder.blocks.0.attn.q``.
    """
    both = len(config.sides) > 1
    found: list[tuple[str, Site]] = []
    for side in config.sides:
        prefix = f"{side}." if both else ""
        found += [(prefix + site.name, site) for site in _embedding(config)]
        for i in range(config.depth(side)):
            at = f"{prefix}blocks.{i}."
            found += [(at + site.name, site) for site in _block(config, side, i)]
        found += [(prefix + site.name, site) for site in _final(config)]
    found += [(site.name, site) for site in _output(config)]
    return tuple(found)


def in_order(config: ModelConfig) -> Iterator[tuple[str, Site]]:
    """The rows of :func:`rows`, one by one."""
    yield from rows(config)


@functools.cache
def table(config: ModelConfig) -> dict[str, Site]:
    """Every site of a model by its full name."""
    return dict(rows(config))


@functools.cache
def recorded(config: ModelConfig) -> frozenset[str]:
    """The full names of the values that the forward pass names; all others are derived from them."""
    return frozenset(name for name, site in rows(config) if not site.derived)


def leaving(config: ModelConfig, side: Side) -> str:
    """The full name of the vectors [T, D] that leave a stack, which the output or a decoder reads."""
    prefix = f"{side}." if len(config.sides) > 1 else ""
    return prefix + ("final.norm.out" if config.norm_at == "pre" else f"blocks.{config.depth(side) - 1}.resid.out")


def find(name: str, config: ModelConfig) -> Site:
    """The row of the site called ``name``.

    Raises:
        KeyError: this model has no such site; the message suggests the nearest names.
    """
    known = table(config)
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise KeyError(f"no site {name!r} in this model{hint}")


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


def _embedding(config: ModelConfig) -> Iterator[Site]:
    yield Site(name="tokens.ids", axes=("T",), formula=r"\mathrm{id}_t", label="token ids", role="token")
    yield Site(
        name="embed.token",
        axes=_TD,
        formula=r"\sqrt{D}\;\mathbf{E}[\mathrm{id}_t]" if config.scale_embedding else r"\mathbf{E}[\mathrm{id}_t]",
        label="token embedding",
        role="residual",
    )
    parts = [r"\mathbf{e}_t"]
    if config.n_segments:
        parts.append(r"\mathbf{s}_t")
        yield Site(
            name="embed.segment",
            axes=_TD,
            formula=r"\mathbf{s}_t = \mathbf{S}[\mathrm{segment}_t]",
            label="segment embedding",
            role="residual",
        )
    if config.position.acts_on == "embedding":
        parts.append(r"\mathbf{p}_t")
        yield Site(
            name="embed.position",
            axes=_TD,
            formula=config.position.formula,
            label=config.position.label,
            role="position",
        )
    total = " + ".join(parts)
    if config.embedding_norm:
        yield from _norm(config, "embed.", total)
        total = _called(config, total)
    label = "embedding + position" if config.position.acts_on == "embedding" else "embedding"
    yield Site(name="embed.out", axes=_TD, formula=total, label=label, role="residual")


def _block(config: ModelConfig, side: Side, layer: int) -> Iterator[Site]:
    yield Site(name="resid.in", axes=_TD, formula=_IN, label="residual stream entering the block", role="residual")
    yield from _sublayer(config, "attn.", _IN, _A, _attention(config, side, layer))
    yield _resid(config, "resid.mid", _MID, _IN, _A, "residual stream after attention")
    before = _MID
    if config.kind == "encoder_decoder" and side == "decoder":
        yield from _sublayer(config, "cross.", _MID, _C, _cross_attention(config))
        yield _resid(config, "resid.cross", _CROSS, _MID, _C, "residual stream after cross-attention")
        before = _CROSS
    yield from _sublayer(config, "ffn.", before, _F, _feed_forward(config))
    yield _resid(config, "resid.out", _OUT, before, _F, "residual stream leaving the block")


def _sublayer(config: ModelConfig, prefix: str, reads: str, writes: str, inside: Iterator[Site]) -> Iterator[Site]:
    """A sub-layer with its norm where the config puts it; ``reads`` and ``writes`` are LaTeX."""
    if config.norm_at == "pre":
        yield from _norm(config, prefix, reads)
    yield from inside
    if config.norm_at == "post":
        yield from _norm(config, prefix, _sum(config, reads, writes))


def _sum(config: ModelConfig, before: str, added: str) -> str:
    """LaTeX for what a sub-layer leaves: what it read plus what it wrote, or the latter alone."""
    return f"{before} + {added}" if config.residual else added


def _called(config: ModelConfig, reads: str) -> str:
    """LaTeX for the model's norm of ``reads``."""
    if isinstance(config.norm, variants.NoNorm):
        return reads
    return rf"\mathrm{{{type(config.norm).__name__}}}({reads})"


def _resid(config: ModelConfig, name: str, symbol: str, before: str, added: str, label: str) -> Site:
    total = _sum(config, before, added)
    if config.norm_at == "post":
        total = _called(config, total)
    return Site(name=name, axes=_TD, formula=f"{symbol} = {total}", label=label, role="residual")


def _norm(config: ModelConfig, prefix: str, reads: str) -> Iterator[Site]:
    """The sites of a norm; ``reads`` is LaTeX for its input."""
    if isinstance(config.norm, variants.NoNorm):
        yield Site(
            name=f"{prefix}norm.scale",
            axes=("T", "1"),
            formula=r"\sigma = 1",
            label="divisor where there is no norm",
            role="norm",
            derived=True,
        )
        yield Site(name=f"{prefix}norm.out", axes=_TD, formula=reads, label="vector, not normalised", role="norm")
        return
    centred = f"{reads} - \\mu" if config.norm.centred else reads
    if config.norm.centred:
        yield Site(
            name=f"{prefix}norm.mean",
            axes=("T", "1"),
            formula=rf"\mu = \tfrac{{1}}{{D}}\sum_d \left({reads}\right)_d",
            label="mean over the vector",
            role="norm",
            derived=True,
        )
    yield Site(
        name=f"{prefix}norm.scale",
        axes=("T", "1"),
        formula=rf"\sigma = \sqrt{{\tfrac{{1}}{{D}}\sum_d \left({centred}\right)_d^2 + \varepsilon}}",
        label="standard deviation over the vector" if config.norm.centred else "root mean square of the vector",
        role="norm",
        derived=True,
    )
    shift = r" + \beta" if config.norm.centred else ""
    yield Site(
        name=f"{prefix}norm.out",
        axes=_TD,
        formula=rf"\gamma \odot \frac{{{centred}}}{{\sigma}}{shift}",
        label="normalised vector",
        role="norm",
    )


def _projections(config: ModelConfig, prefix: str, keys_from: str) -> Iterator[Site]:
    """Queries, keys and values; ``keys_from`` is LaTeX for what keys and values are made of."""
    plural = ("queries", "query"), ("keys", "key"), ("values", "value")
    roles: tuple[Role, ...] = ("query", "key", "value")
    for (label, _), role, letter in zip(plural, roles, "qkv", strict=True):
        reads = r"\mathbf{x}" if letter == "q" else keys_from
        bias = rf" + \mathbf{{b}}_{letter.upper()}" if config.attention_bias else ""
        yield Site(
            name=f"{prefix}{letter}",
            axes=("H", "Tq", "K") if letter == "q" else ("G", "Tk", "K"),
            formula=rf"\mathbf{{{letter}}} = {reads}\mathbf{{W}}_{letter.upper()}{bias}",
            label=label,
            role=role,
        )
    if config.qk_norm:
        yield Site(
            name=f"{prefix}q_normed",
            axes=_HTK,
            formula=r"\hat{\mathbf{q}} = " + _called(config, r"\mathbf{q}"),
            label="queries, normalised",
            role="query",
        )
        yield Site(
            name=f"{prefix}k_normed",
            axes=("G", "Tk", "K"),
            formula=r"\hat{\mathbf{k}} = " + _called(config, r"\mathbf{k}"),
            label="keys, normalised",
            role="key",
        )


def _attention(config: ModelConfig, side: Side, layer: int) -> Iterator[Site]:
    yield from _projections(config, "attn.", r"\mathbf{x}")
    hat = r"\hat{{\mathbf{{{0}}}}}" if config.qk_norm else r"\mathbf{{{0}}}"
    if config.position.acts_on == "queries":
        yield Site(
            name="attn.q_rotated",
            axes=_HTK,
            formula=rf"\mathbf{{q}}'_t = \mathbf{{R}}_t\,{hat.format('q')}_t",
            label="queries, rotated by position",
            role="position",
        )
        yield Site(
            name="attn.k_rotated",
            axes=("G", "Tk", "K"),
            formula=rf"\mathbf{{k}}'_t = \mathbf{{R}}_t\,{hat.format('k')}_t",
            label="keys, rotated by position",
            role="position",
        )
    yield _scores(config, "attn.", rotated=config.position.acts_on == "queries")
    terms = [r"\mathbf{S}"]
    if config.position.acts_on == "scores":
        terms.append(r"\mathbf{B}")
        yield Site(
            name="attn.bias",
            axes=_HTT,
            formula=config.position.formula,
            label="position bias",
            role="position",
            derived=True,
        )
    yield from _from_mask(config, "attn.", terms, _A, *_mask(config, side, layer))


def _cross_attention(config: ModelConfig) -> Iterator[Site]:
    yield from _projections(config, "cross.", r"\mathbf{h}^{\text{enc}}")
    yield _scores(config, "cross.", rotated=False)
    yield from _from_mask(config, "cross.", [r"\mathbf{S}"], _C, *_NO_MASK)


_NO_MASK = (r"M_{ij} = 0", "mask")


def _mask(config: ModelConfig, side: Side, layer: int) -> tuple[str, str]:
    """Formula and label of the mask of a layer's self-attention."""
    window = config.window(side, layer)
    if side == "encoder" and not window:
        return _NO_MASK
    seen = "j \\le i"
    if window:
        seen = f"\\lvert i - j \\rvert < {window}" if side == "encoder" else f"i - {window} < j \\le i"
    label = "sliding-window mask" if window else "causal mask"
    return rf"M_{{ij}} = \begin{{cases}}0 & {seen}\\ -\infty & \text{{else}}\end{{cases}}", label


def _scores(config: ModelConfig, prefix: str, *, rotated: bool) -> Site:
    q, k = (r"\mathbf{Q}'", r"\mathbf{K}'") if rotated else (r"\mathbf{Q}", r"\mathbf{K}")
    if config.qk_norm and not rotated:
        q, k = r"\hat{\mathbf{Q}}", r"\hat{\mathbf{K}}"
    product = f"{q}{{{k}}}^\\top"
    return Site(
        name=f"{prefix}scores",
        axes=_HTT,
        formula=rf"\mathbf{{S}} = \frac{{{product}}}{{\sqrt{{K}}}}"
        if config.scale_scores
        else rf"\mathbf{{S}} = {product}",
        label="attention scores",
        role="pattern",
        derived=True,
    )


def _from_mask(
    config: ModelConfig, prefix: str, terms: list[str], writes: str, mask: str, label: str
) -> Iterator[Site]:
    """From the mask to what attention writes; ``terms`` are what stands before the mask in the softmax."""
    masked = " + ".join([*terms, r"\mathbf{M}"])
    yield Site(name=f"{prefix}mask", axes=_HTT, formula=mask, label=label, role="pattern", derived=True)
    yield Site(name=f"{prefix}masked", axes=_HTT, formula=masked, label="masked scores", role="pattern", derived=True)
    yield Site(
        name=f"{prefix}pattern",
        axes=_HTT,
        formula=rf"\mathbf{{A}} = \mathrm{{softmax}}({masked})",
        label="attention pattern",
        role="pattern",
        derived=True,
    )
    yield Site(
        name=f"{prefix}z",
        axes=_HTK,
        formula=r"\mathbf{Z} = \mathbf{A}\mathbf{V}",
        label="values mixed by attention",
        role="value",
    )
    yield Site(
        name=f"{prefix}head_out",
        axes=("H", "Tq", "D"),
        formula=r"\mathbf{Z}_h\mathbf{W}_O^{(h)}",
        label="what each head writes",
        role="value",
        derived=True,
    )
    bias = r" + \mathbf{b}_O" if config.attention_bias else ""
    yield Site(
        name=f"{prefix}out",
        axes=_TQD,
        formula=rf"{writes} = [\mathbf{{Z}}_1;\dots;\mathbf{{Z}}_H]\,\mathbf{{W}}_O{bias}",
        label="attention output",
        role="pattern",
    )


def _feed_forward(config: ModelConfig) -> Iterator[Site]:
    gated = config.ffn.gated
    up, down = (r"\text{up}", r"\text{down}") if gated else ("1", "2")
    biases = {which: rf" + \mathbf{{b}}_{{{which}}}" if config.ffn.bias else "" for which in (r"\text{gate}", up, down)}
    activate = _ACTIVATIONS[config.ffn.activation]
    gate = activate.format(r"\mathbf{g}")
    if gated:
        yield Site(
            name="ffn.gate",
            axes=_TF,
            formula=r"\mathbf{g} = \mathbf{x}\mathbf{W}_{\text{gate}}" + biases[r"\text{gate}"],
            label="gate before the activation",
            role="ffn",
        )
        yield Site(
            name="ffn.gate_act",
            axes=_TF,
            formula=gate,
            label="gate",
            role="ffn",
            derived=True,
        )
    yield Site(
        name="ffn.up",
        axes=_TF,
        formula=rf"\mathbf{{u}} = \mathbf{{x}}\mathbf{{W}}_{{{up}}}{biases[up]}",
        label="what the gate lets through" if gated else "hidden neurons before the activation",
        role="ffn",
    )
    product = rf"\left({gate}\right) \odot \mathbf{{u}}"
    yield Site(
        name="ffn.act",
        axes=_TF,
        formula=r"\mathbf{h} = " + (product if gated else activate.format(r"\mathbf{u}")),
        label="hidden neurons",
        role="ffn",
    )
    yield Site(
        name="ffn.out",
        axes=_TD,
        formula=rf"\mathbf{{f}} = \mathbf{{h}}\mathbf{{W}}_{{{down}}}{biases[down]}",
        label="feed-forward output",
        role="ffn",
    )


def _final(config: ModelConfig) -> Iterator[Site]:
    if config.norm_at == "pre":
        yield from _norm(config, "final.", _OUT)


def _output(config: ModelConfig) -> Iterator[Site]:
    reads = r"\mathbf{x}"
    match config.head:
        case variants.NoHead():
            return
        case variants.MaskedHead(activation=activation):
            yield Site(
                name="head.act",
                axes=_TD,
                formula=_ACTIVATIONS[activation].format(r"(\mathbf{x}\mathbf{W}_H + \mathbf{b}_H)"),
                label="the head's own layer",
                role="output",
            )
            yield from _norm(config, "head.", r"\mathbf{y}")
            bias = True
        case variants.LanguageHead(bias=bias, scale=scale):
            reads = r"\tfrac{\mathbf{x}}{\sqrt{D}}" if scale else reads
    matrix = r"\mathbf{E}" if config.tie_embeddings else r"\mathbf{U}"
    yield Site(
        name="logits",
        axes=("T", "V"),
        formula=rf"\boldsymbol{{\ell}} = {reads}\,{matrix}^\top" + (r" + \mathbf{b}" if bias else ""),
        label="logits",
        role="output",
        derived=True,
    )
    yield Site(
        name="probs",
        axes=("T", "V"),
        formula=r"p_w = \frac{e^{\ell_w}}{\sum_{v} e^{\ell_v}}",
        label="token probabilities" if config.kind == "encoder" else "next-token probabilities",
        role="output",
        derived=True,
    )
