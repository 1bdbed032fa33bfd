"""The registry of every named value in a run: its axes, its formula, when it exists, its order.

A *site* is a place in the forward pass, like ``blocks.2.attn.q``. What a page says about a value
(its name, shape, formula, colour) is read from here, so there is no second description to drift.

Axes: T positions (Tq of queries, Tk of keys), D model width, H heads, K head width, F hidden
width of the feed-forward layer, V vocabulary, 1 a single value a position.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from viz_model.config import ModelConfig

Role = Literal["residual", "position", "query", "key", "value", "pattern", "ffn", "norm", "token", "output"]


def _always(config: ModelConfig) -> bool:
    return True


def _pre(config: ModelConfig) -> bool:
    return config.norm_at == "pre"


def _post(config: ModelConfig) -> bool:
    return config.norm_at == "post"


@dataclass(frozen=True, kw_only=True)
class Site:
    """One row of the registry.

    ``name`` is relative to its group: rows of a block are prefixed with ``blocks.{i}.``.
    ``derived`` values are not kept by a run but rebuilt from what it kept, when somebody looks.
    ``formula`` is LaTeX; bold capitals are weights, x is what the sub-layer reads.
    """

    name: str
    axes: tuple[str, ...]
    formula: str
    label: str
    role: Role
    derived: bool = False
    when: Callable[[ModelConfig], bool] = _always

    def shape(self, config: ModelConfig, length: int) -> tuple[int, ...]:
        """The sizes of :attr:`axes` in a run of ``length`` positions."""
        sizes = {
            "T": length,
            "Tq": length,
            "Tk": length,
            "D": config.d_model,
            "H": config.n_heads,
            "K": config.d_head,
            "F": config.d_ffn,
            "V": config.n_vocab,
            "1": 1,
        }
        return tuple(sizes[axis] for axis in self.axes)


def _norm(prefix: str, reads: str, when: Callable[[ModelConfig], bool] = _always) -> tuple[Site, ...]:
    """The three sites of a norm; ``reads`` is LaTeX for its input."""
    return (
        Site(
            name=f"{prefix}norm.mean",
            axes=("T", "1"),
            formula=rf"\mu = \tfrac{{1}}{{D}}\sum_d \left({reads}\right)_d",
            label="mean over the vector",
            role="norm",
            derived=True,
            when=when,
        ),
        Site(
            name=f"{prefix}norm.scale",
            axes=("T", "1"),
            formula=rf"\sigma = \sqrt{{\tfrac{{1}}{{D}}\sum_d \left({reads} - \mu\right)_d^2 + \varepsilon}}",
            label="standard deviation over the vector",
            role="norm",
            derived=True,
            when=when,
        ),
        Site(
            name=f"{prefix}norm.out",
            axes=("T", "D"),
            formula=rf"\gamma \odot \frac{{{reads} - \mu}}{{\sigma}} + \beta",
            label="normalised vector",
            role="norm",
            when=when,
        ),
    )


_TD, _TF, _HTK, _HTT = ("T", "D"), ("T", "F"), ("H", "T", "K"), ("H", "Tq", "Tk")
_IN, _MID = r"\mathbf{r}^{\text{in}}", r"\mathbf{r}^{\text{mid}}"
_A, _F = r"\mathbf{a}", r"\mathbf{f}"

EMBEDDING = (
    Site(name="tokens.ids", axes=("T",), formula=r"\mathrm{id}_t", label="token ids", role="token"),
    Site(
        name="embed.token",
        axes=_TD,
        formula=r"\sqrt{D}\;\mathbf{E}[\mathrm{id}_t]",
        label="token embedding",
        role="residual",
        when=lambda config: config.scale_embedding,
    ),
    Site(
        name="embed.token",
        axes=_TD,
        formula=r"\mathbf{E}[\mathrm{id}_t]",
        label="token embedding",
        role="residual",
        when=lambda config: not config.scale_embedding,
    ),
    Site(
        name="embed.position",
        axes=_TD,
        formula=r"p_{t,2i}=\sin\frac{t}{b^{2i/D}},\; p_{t,2i+1}=\cos\frac{t}{b^{2i/D}}",
        label="position waves",
        role="position",
    ),
    Site(
        name="embed.out",
        axes=_TD,
        formula=r"\mathbf{e}_t + \mathbf{p}_t",
        label="embedding + position",
        role="residual",
    ),
)

BLOCK = (
    Site(
        name="resid.in",
        axes=_TD,
        formula=_IN,
        label="residual stream entering the block",
        role="residual",
    ),
    *_norm("attn.", _IN, _pre),
    Site(
        name="attn.q",
        axes=_HTK,
        formula=r"\mathbf{q} = \mathbf{x}\mathbf{W}_Q + \mathbf{b}_Q",
        label="queries",
        role="query",
    ),
    Site(
        name="attn.k",
        axes=_HTK,
        formula=r"\mathbf{k} = \mathbf{x}\mathbf{W}_K + \mathbf{b}_K",
        label="keys",
        role="key",
    ),
    Site(
        name="attn.v",
        axes=_HTK,
        formula=r"\mathbf{v} = \mathbf{x}\mathbf{W}_V + \mathbf{b}_V",
        label="values",
        role="value",
    ),
    Site(
        name="attn.scores",
        axes=_HTT,
        formula=r"\mathbf{S} = \frac{\mathbf{Q}\mathbf{K}^\top}{\sqrt{K}}",
        label="attention scores",
        role="pattern",
        derived=True,
    ),
    Site(
        name="attn.mask",
        axes=_HTT,
        formula=r"M_{ij} = \begin{cases}0 & j \le i\\ -\infty & j > i\end{cases}",
        label="causal mask",
        role="pattern",
        derived=True,
    ),
    Site(
        name="attn.masked",
        axes=_HTT,
        formula=r"\mathbf{S} + \mathbf{M}",
        label="masked scores",
        role="pattern",
        derived=True,
    ),
    Site(
        name="attn.pattern",
        axes=_HTT,
        formula=r"\mathbf{A} = \mathrm{softmax}(\mathbf{S} + \mathbf{M})",
        label="attention pattern",
        role="pattern",
        derived=True,
    ),
    Site(
        name="attn.z",
        axes=("H", "Tq", "K"),
        formula=r"\mathbf{Z} = \mathbf{A}\mathbf{V}",
        label="values mixed by attention",
        role="value",
    ),
    Site(
        name="attn.head_out",
        axes=("H", "Tq", "D"),
        formula=r"\mathbf{Z}_h\mathbf{W}_O^{(h)}",
        label="what each head writes",
        role="value",
        derived=True,
    ),
    Site(
        name="attn.out",
        axes=("Tq", "D"),
        formula=r"\mathbf{a} = [\mathbf{Z}_1;\dots;\mathbf{Z}_H]\,\mathbf{W}_O + \mathbf{b}_O",
        label="attention output",
        role="pattern",
    ),
    *_norm("attn.", f"{_IN} + {_A}", _post),
    Site(
        name="resid.mid",
        axes=_TD,
        formula=f"{_MID} = {_IN} + {_A}",
        label="residual stream after attention",
        role="residual",
        when=_pre,
    ),
    Site(
        name="resid.mid",
        axes=_TD,
        formula=rf"{_MID} = \mathrm{{LayerNorm}}({_IN} + {_A})",
        label="residual stream after attention",
        role="residual",
        when=_post,
    ),
    *_norm("ffn.", _MID, _pre),
    Site(
        name="ffn.up",
        axes=_TF,
        formula=r"\mathbf{u} = \mathbf{x}\mathbf{W}_1 + \mathbf{b}_1",
        label="hidden neurons before the activation",
        role="ffn",
    ),
    Site(
        name="ffn.act",
        axes=_TF,
        formula=r"\mathbf{h} = \max(0, \mathbf{u})",
        label="hidden neurons",
        role="ffn",
    ),
    Site(
        name="ffn.out",
        axes=_TD,
        formula=r"\mathbf{f} = \mathbf{h}\mathbf{W}_2 + \mathbf{b}_2",
        label="feed-forward output",
        role="ffn",
    ),
    *_norm("ffn.", f"{_MID} + {_F}", _post),
    Site(
        name="resid.out",
        axes=_TD,
        formula=rf"\mathbf{{r}}^{{\text{{out}}}} = {_MID} + {_F}",
        label="residual stream leaving the block",
        role="residual",
        when=_pre,
    ),
    Site(
        name="resid.out",
        axes=_TD,
        formula=rf"\mathbf{{r}}^{{\text{{out}}}} = \mathrm{{LayerNorm}}({_MID} + {_F})",
        label="residual stream leaving the block",
        role="residual",
        when=_post,
    ),
)

OUTPUT = (
    *_norm("final.", r"\mathbf{r}^{\text{out}}", _pre),
    Site(
        name="logits",
        axes=("T", "V"),
        formula=r"\boldsymbol{\ell} = \mathbf{x}\,\mathbf{E}^\top",
        label="logits",
        role="output",
    ),
    Site(
        name="probs",
        axes=("T", "V"),
        formula=r"p_w = \frac{e^{\ell_w}}{\sum_{v} e^{\ell_v}}",
        label="next-token probabilities",
        role="output",
        derived=True,
    ),
)


def in_order(config: ModelConfig) -> Iterator[tuple[str, Site]]:
    """Full names and rows of every site of a model, in the order a token meets them."""
    yield from ((site.name, site) for site in EMBEDDING if site.when(config))
    for i in range(config.n_layers):
        yield from ((f"blocks.{i}.{site.name}", site) for site in BLOCK if site.when(config))
    yield from ((site.name, site) for site in OUTPUT if site.when(config))


def find(name: str, config: ModelConfig) -> Site:
    """The row of the site called ``name``.

    Raises:
        KeyError: this model has no such site; the message suggests the nearest names.
    """
    known = dict(in_order(config))
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise KeyError(f"no site {name!r} in this model{hint}")


def split_name(name: str) -> tuple[int | None, str]:
    """``"blocks.2.attn.q"`` -> ``(2, "attn.q")``; a name outside the blocks has layer None."""
    if name.startswith("blocks."):
        _, layer, rest = name.split(".", 2)
        return int(layer), rest
    return None, name
