"""Every stage of a run as a few lines of plain PyTorch, and all of them as a notebook.

The lines are written for one model: they hold its norm, its activation, its mask, and no branch
for what it has not. They start from named values and weights, and end by comparing what they made
with the run: each comparison prints True.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from viz_model import config as variants
from viz_model.config import Activation, Side
from viz_model.model import sites
from viz_model.model.sites import Site
from viz_model.runs.trace import Trace

MOST_LINES = 15
"""Of a snippet that runs as it stands: :func:`preamble` and the lines of one stage."""
WIDEST = 80
"""Characters of an expression and a name that still share a line."""


@dataclass(frozen=True)
class Snippet:
    """The lines that reproduce one stage, after :func:`preamble`.

    ``makes`` are the full names of the values that they make and compare, the last one the stage's result.
    """

    lines: tuple[str, ...]
    makes: tuple[str, ...]

    @property
    def code(self) -> str:
        return "\n".join(self.lines)


def preamble(trace: Trace, model: str) -> tuple[str, ...]:
    """What every snippet starts with: the run, its weights by name, and the comparison.

    Args:
        model: what :func:`viz_model.load` is to be given.

    Raises:
        ValueError: the run has edits or masks of its own, which the lines do not speak of.
    """
    if trace.edits or trace.visible:
        raise ValueError("edits: code is written for runs as the model makes them, this one was changed")
    return (
        "import torch",
        "import viz_model as vm",
        f"lm = vm.load({model!r})",
        f"trace, w = {_call(trace)}, lm.model.get_parameter",
        "def same(found, name):",
        "    print(name, torch.allclose(found, trace[name], atol=1e-4, rtol=1e-4))",
    )


def _call(trace: Trace) -> str:
    """Python that makes this run again, with a model called ``lm``."""
    said = [repr(trace.text) if trace.text is not None else f"ids={list(trace.ids)}"]
    language = trace.target_language
    if trace.target_ids is not None and trace.text is None:
        said.append(f"target_ids={list(trace.target_ids)}")
    elif trace.target_ids is not None:
        said += [repr(trace.target)] if trace.target is not None else []
        said += [f"target_language={language!r}"] if language is not None else []
    if trace.segments is not None:
        said.append(f"segments={list(trace.segments)}")
    cut = [len(ids or ()) for ids, n in ((trace.ids, trace.n_dropped), (trace.target_ids, trace.n_target_dropped)) if n]
    said += [f"max_tokens={max(cut)}"] if cut else []
    return f"lm.trace({', '.join(said)})"


def snippets(trace: Trace, layer: int = 0) -> tuple[Snippet, ...]:
    """All stages of a run in order; of its blocks, those of one layer.

    Every value that :mod:`viz_model.model.sites` names outside the blocks and in this layer is made once. Of a
    stack with fewer blocks it is the last one.

    Raises:
        ValueError: no stack of this model has such a layer.
    """
    config = trace.config
    deepest = max(map(config.depth, config.sides))
    if not 0 <= layer < deepest:
        raise ValueError(f"layer: expected 0 to {deepest - 1}, got {layer}")
    found: list[Snippet] = []
    for side in config.sides:
        found += _Stack(trace, side, min(layer, config.depth(side) - 1)).snippets()
    return (*found, *_output(trace))


class _Stack:
    """Writes the stages of one stack."""

    def __init__(self, trace: Trace, side: Side, layer: int) -> None:
        self.config, self.side, self.layer = trace.config, side, layer
        self.prefix = f"{side}." if len(self.config.sides) > 1 else ""
        self.at, self.weights = f"{self.prefix}blocks.{layer}.", f"{side}.blocks.{layer}."
        self.n_tokens = len(trace.values[f"{self.prefix}tokens.ids"])
        self.segments = trace.segments
        self.read = f"trace.{'target_ids' if self.prefix == 'decoder.' else 'ids'}"

    def snippets(self) -> Iterator[Snippet]:
        yield from self._embedding()
        before = f"{self.prefix}blocks.{self.layer - 1}.resid.out" if self.layer else f"{self.prefix}embed.out"
        yield _snippet([], {f"{self.at}resid.in": _value(before)})
        stream = f"{self.at}resid.in"
        groups = [("attn", "resid.mid"), ("cross", "resid.cross"), ("ffn", "resid.out")]
        for group, after in groups:
            if f"{self.at}{group}.out" in sites.table(self.config):
                yield from self._sublayer(group, stream, f"{self.at}{after}")
                stream = f"{self.at}{after}"
        if self.config.norm_at == "pre":
            last = f"{self.prefix}blocks.{self.config.depth(self.side) - 1}.resid.out"
            yield _norm(self.config.norm, _value(last), f"{self.side}.final_norm", f"{self.prefix}final.norm")

    def _embedding(self) -> Iterator[Snippet]:
        at, config = f"{self.prefix}embed.", self.config
        yield _snippet([], {f"{self.prefix}tokens.ids": f"torch.tensor({self.read})"})
        scale = f" * {config.d_model}**0.5" if config.scale_embedding else ""
        yield _snippet(
            [f'table = w("embedding.weight")  # [V, D] = {config.n_vocab} × {config.d_model}'],
            {f"{at}token": f"table[{_value(f'{self.prefix}tokens.ids')}]{scale}"},
        )
        parts = [_value(f"{at}token")]
        if config.n_segments:
            kinds = list(self.segments or [0] * self.n_tokens)
            yield _snippet([], {f"{at}segment": f'w("{self.side}.segment.weight")[{kinds}]'})
            parts.append(_value(f"{at}segment"))
        if config.position.acts_on == "embedding":
            yield self._position(f"{at}position")
            parts.append(_value(f"{at}position"))
        total = " + ".join(parts)
        if config.embedding_norm:
            yield _norm(config.norm, total, f"{self.side}.embed_norm", f"{at}norm")
            total = _value(f"{at}norm.out")
        yield _snippet([], {f"{at}out": total})

    def _position(self, name: str) -> Snippet:
        length, width = self.n_tokens, self.config.d_model
        match self.config.position:
            case variants.Sinusoidal(base=base, layout=layout):
                together = "torch.stack((angle.sin(), angle.cos()), -1).flatten(1)"
                if layout == "halves":
                    together = "torch.cat((angle.sin(), angle.cos()), -1)"
                return _snippet(
                    [
                        f"t = torch.arange({length}, dtype=torch.float64)[:, None]",
                        f"angle = t / {base} ** (torch.arange(0, {width}, 2) / {width})  # [T, D/2]",
                    ],
                    {name: f"{together}.float()"},
                )
        return _snippet([], {name: f'w("{self.side}.position.table.weight")[:{length}]'})

    def _sublayer(self, group: str, stream: str, after: str) -> Iterator[Snippet]:
        """A sub-layer, its norm where the config puts it, and the stream behind it."""
        config, at = self.config, f"{self.at}{group}."
        norm = f"{self.weights}{group}_norm"
        reads = stream
        if config.norm_at == "pre":
            yield _norm(config.norm, _value(stream), norm, f"{at}norm")
            reads = f"{at}norm.out"
        yield from self._feed_forward(reads) if group == "ffn" else self._attention(group, reads)
        left = f"{_value(stream)} + {_value(f'{at}out')}" if config.residual else _value(f"{at}out")
        if config.norm_at == "post":
            yield _norm(config.norm, left, norm, f"{at}norm")
            left = _value(f"{at}norm.out")
        yield _snippet([], {after: left})

    def _attention(self, group: str, reads: str) -> Iterator[Snippet]:
        config, at, weights = self.config, f"{self.at}{group}.", f"{self.weights}{group}."
        source = reads
        if group == "cross":
            source = sites.leaving(config, "encoder")
        for letter in "qkv":
            heads = config.n_heads if letter == "q" else config.n_kv_heads
            made = _linear("x", f"{weights}{letter}", config.attention_bias)
            yield _snippet(
                [f"x = {_value(reads if letter == 'q' else source)}", f"made = {made}  # [T, {heads}·{config.d_head}]"],
                {f"{at}{letter}": f"made.unflatten(-1, ({heads}, {config.d_head})).transpose(0, 1)"},
            )
        form = ""
        if config.qk_norm:
            for letter in "qk":
                yield _norm(config.norm, _value(f"{at}{letter}"), f"{weights}qk_norm.{letter}", f"{at}{letter}_normed")
            form = "_normed"
        if group == "attn" and isinstance(config.position, variants.Rope):
            yield self._rotation(config.position, at, form)
            form = "_rotated"
        share = config.n_heads // config.n_kv_heads
        shared = f".repeat_interleave({share}, 0)" if share > 1 else ""
        scale = f" / {config.d_head}**0.5" if config.scale_scores else ""
        yield _snippet(
            [f"q, k = {_value(f'{at}q{form}')}, {_value(f'{at}k{form}')}{shared}"],
            {f"{at}scores": f"q @ k.transpose(1, 2){scale}"},
        )
        terms = [f"{at}scores"]
        if group == "attn" and config.position.acts_on == "scores":
            yield self._bias(at)
            terms.append(f"{at}bias")
        yield self._mask(group, at)
        yield _snippet([], {f"{at}masked": " + ".join(map(_value, [*terms, f"{at}mask"]))})
        yield _softmax(f"{at}masked", f"{at}pattern")
        yield _snippet([], {f"{at}z": f"{_value(f'{at}pattern')} @ {_value(f'{at}v')}{shared}"})
        yield _snippet(
            [f'w_o = w("{weights}o.weight").T.unflatten(0, ({config.n_heads}, {config.d_head}))  # [H, K, D]'],
            {f"{at}head_out": f"{_value(f'{at}z')} @ w_o"},
        )
        bias = f' + w("{weights}o.bias")' if config.attention_bias else ""
        yield _snippet([], {f"{at}out": f"{_value(f'{at}head_out')}.sum(0){bias}"})

    def _rotation(self, rope: variants.Rope, at: str, form: str) -> Snippet:
        n_rotated = int(self.config.d_head * rope.fraction)
        shape, axis = f"({n_rotated // 2}, 2)", "-1"
        if rope.pairing == "halves":
            shape, axis = f"(2, {n_rotated // 2})", "-2"
        powers = f"(torch.arange(0, {n_rotated}, 2, dtype=torch.float64) / {n_rotated})"
        first, theta, stretch = f"theta = {float(rope.base)} ** -{powers}", "theta", ""
        if rope.scaling is not None:
            first = f"rope = lm.model.{self.side}.position  # frequencies stretched by {type(rope.scaling).__name__}"
            theta, stretch = "rope.frequencies", " * rope.stretch"
        is_whole = n_rotated == self.config.d_head
        lines = [
            first,
            f"angle = torch.arange({self.n_tokens})[:, None] * {theta}  # [T, {n_rotated // 2}]",
            f"cos, sin = (angle.cos(){stretch}).float(), (angle.sin(){stretch}).float()",
            'for letter in "qk":',
            f'    x = trace[f"{at}{{letter}}{form}"]',
            f"    a, b = x[..., :{n_rotated}].unflatten(-1, {shape}).unbind({axis})",
            f"    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), {axis}).flatten(-2)",
            *([] if is_whole else [f"    turned = torch.cat((turned, x[..., {n_rotated}:]), -1)  # the rest stays"]),
            f'    same(turned, f"{at}{{letter}}_rotated")',
        ]
        return Snippet(tuple(lines), (f"{at}q_rotated", f"{at}k_rotated"))

    def _bias(self, at: str) -> Snippet:
        lines = [f"distance = torch.arange({self.n_tokens}) - torch.arange({self.n_tokens})[:, None]  # key − query"]
        if isinstance(self.config.position, variants.T5Bias):
            position = self.config.position
            n, first, back = position.buckets, "", "(-distance).clamp(min=0)"
            if self.side == "encoder":
                n, first, back = n // 2, f"(distance > 0) * {n // 2} + ", "distance.abs()"
            exact = n // 2
            grown = f"(back.clamp(min=1) / {exact}).log() / torch.tensor({position.max_distance} / {exact}).log()"
            lines += [
                f"back = {back}",
                f"wide = {exact} + ({grown} * {n - exact} + 1e-6).long().clamp(max={n - exact - 1})",
                f"bucket = {first}torch.where(back < {exact}, back, wide)  # near: one distance each",
            ]
            return _snippet(lines, {f"{at}bias": f'w("{self.side}.position.buckets.weight")[bucket].permute(2, 0, 1)'})
        heads = self.config.n_heads
        below = 2 ** (heads.bit_length() - 1)
        lines.append(f"slopes = [2 ** (-8 * (h + 1) / {below}) for h in range({below})]")
        if heads > below:
            lines.append(f"slopes += [2 ** (-4 * (h + 1) / {below}) for h in range(0, {2 * (heads - below)}, 2)]")
        return _snippet(lines, {f"{at}bias": "-torch.tensor(slopes)[:, None, None] * distance.abs()"})

    def _mask(self, group: str, at: str) -> Snippet:
        window = self.config.window(self.side, self.layer) if group == "attn" else 0
        visible = "torch.ones_like(scores).bool()"
        if self.side == "decoder" and group == "attn":
            visible += ".tril()"
        if window:
            visible += f".triu({1 - window})" + (f".tril({window - 1})" if self.side == "encoder" else "")
        lines = [f"scores = {_value(f'{at}scores')}", f"visible = {visible}  # who may look at whom"]
        return _snippet(lines, {f"{at}mask": 'torch.zeros_like(scores).masked_fill(~visible, -float("inf"))'})

    def _feed_forward(self, reads: str) -> Iterator[Snippet]:
        ffn, at, weights = self.config.ffn, f"{self.at}ffn.", f"{self.weights}ffn."
        x = [f"x = {_value(reads)}"]
        if ffn.gated:
            yield _snippet(x, {f"{at}gate": _linear("x", f"{weights}gate", ffn.bias)})
            lines, activated = _activation(ffn.activation, _value(f"{at}gate"))
            yield _snippet(lines, {f"{at}gate_act": activated})
        yield _snippet(x, {f"{at}up": _linear("x", f"{weights}up", ffn.bias)})
        if ffn.gated:
            yield _snippet([], {f"{at}act": f"{_value(f'{at}gate_act')} * {_value(f'{at}up')}"})
        else:
            lines, activated = _activation(ffn.activation, _value(f"{at}up"))
            yield _snippet(lines, {f"{at}act": activated})
        yield _snippet([f"h = {_value(f'{at}act')}"], {f"{at}out": _linear("h", f"{weights}down", ffn.bias)})


def _output(trace: Trace) -> Iterator[Snippet]:
    config = trace.config
    if not config.has_logits:
        return
    reads = sites.leaving(config, config.sides[-1])
    scale, has_bias = "", True
    match config.head:
        case variants.MaskedHead(activation=activation):
            lines, activated = _activation(activation, _linear(_value(reads), "head.dense", True))
            yield _snippet(lines, {"head.act": activated})
            yield _norm(config.norm, _value("head.act"), "head.norm", "head.norm")
            reads = "head.norm.out"
        case variants.LanguageHead(bias=bias, scale=scaled):
            has_bias, scale = bias, f" / {config.d_model}**0.5" if scaled else ""
    table = "embedding.weight" if config.tie_embeddings else "head.unembedding.weight"
    shift = ' + w("head.unembedding.bias")' if has_bias else ""
    yield _snippet([], {"logits": f'{_value(reads)}{scale} @ w("{table}").T{shift}'})
    yield _softmax("logits", "probs")


def _softmax(reads: str, name: str) -> Snippet:
    lines = [f"x = {_value(reads)}", "power = (x - x.amax(-1, keepdim=True)).exp()"]
    return _snippet(lines, {name: "power / power.sum(-1, keepdim=True)"})


def _value(name: str) -> str:
    return f'trace["{name}"]'


def _snippet(lines: Sequence[str], made: dict[str, str]) -> Snippet:
    """``made`` are expressions by the names of the values that they make."""
    written = list(lines)
    for name, code in made.items():
        if len(code) + len(name) > WIDEST:
            written.append(f"made = {code}")
            code = "made"
        written.append(f'same({code}, "{name}")')
    return Snippet(tuple(written), tuple(made))


def _linear(reads: str, module: str, has_bias: bool) -> str:
    return f'{reads} @ w("{module}.weight").T' + (f' + w("{module}.bias")' if has_bias else "")


def _norm(norm: variants.Norm, reads: str, weights: str, at: str) -> Snippet:
    """A norm with sites of its own, or that of queries and keys, of which only the result is named."""
    lines, names, last = [f"x = {reads}"], {}, at
    if at.endswith("norm"):
        names, last = {"mean": f"{at}.mean", "scale": f"{at}.scale"}, f"{at}.out"
    if isinstance(norm, variants.NoNorm):
        made = {names["scale"]: "torch.ones_like(x[..., :1])"} if names else {}
        return _snippet(lines, {**made, last: "x"})
    x, shift = "x", ""
    if norm.centred:
        lines.append("mean = x.mean(-1, keepdim=True)")
        x, shift = "(x - mean)", f' + w("{weights}.bias")'
    lines.append(f"scale = ({x}.square().mean(-1, keepdim=True) + {norm.eps}).sqrt()")
    made = {name: value for value, name in names.items() if value == "scale" or norm.centred}
    return _snippet(lines, {**made, last: f'w("{weights}.weight") * {x} / scale{shift}'})


def _activation(activation: Activation, reads: str) -> tuple[list[str], str]:
    lines = [f"u = {reads}"]
    match activation:
        case "relu":
            return lines, "u.clamp(min=0)"
        case "gelu":
            return lines, "u * (1 + (u / 2**0.5).erf()) / 2"
        case "silu":
            return lines, "u / (1 + (-u).exp())"
        case "gelu_tanh":
            return lines, "u * (1 + ((2 / torch.pi) ** 0.5 * (u + 0.044715 * u**3)).tanh()) / 2"


def notebook(
    trace: Trace,
    model: str,
    layer: int = 0,
    *,
    opening: str = "",
    label: Callable[[Site], str] = lambda site: site.label,
) -> str:
    """A Jupyter notebook (nbformat 4) that makes the run again and reproduces every stage: JSON.

    Args:
        model: what :func:`viz_model.load` is to be given.
        layer: the block that is taken apart.
        opening: Markdown for the first cell.
        label: the heading of a site, in the reader's language.

    Raises:
        ValueError: see :func:`preamble` and :func:`snippets`.
    """
    cells = [_cell("markdown", opening)] if opening else []
    cells.append(_cell("code", "\n".join(preamble(trace, model))))
    for snippet in snippets(trace, layer):
        said = []
        for name in snippet.makes:
            site = sites.find(name, trace.config)
            said.append(f"### {label(site)}\n`{name}` [{' × '.join(site.axes)}]\n\n$$\n{site.formula}\n$$")
        cells += [_cell("markdown", "\n\n".join(said)), _cell("code", snippet.code)]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n}"
    return json.dumps(
        {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1
    )


def _cell(kind: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
