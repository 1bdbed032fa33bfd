"""For every site: the steps that make one of its numbers, from the values and weights before it.

The symbols are those of the registry's formulas, with this cell's indices: a head in parentheses
above, the position below, then the column. ``#`` in a symbol is where a sum counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias, cast

import numpy as np
import torch

from viz_model import config as variants
from viz_model.config import Activation
from viz_model.model import norms, ops, positions
from viz_model.model.feedforward import Dense
from viz_model.runs.derivation.sources import Place, Run
from viz_model.runs.derivation.steps import Cell, Factor, Operand, Setting, Sheet, Terms, operand

Index: TypeAlias = tuple[int, ...]
Rule: TypeAlias = Callable[[Sheet, Run, Place, Index], Cell | None]


def write(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    """Write the steps of one cell; returns the cell that is the same number by construction, if one is."""
    key = place.rest if place.rest in _RULES else place.last
    if place.last in ("mean", "scale", "out") and ".norm." in place.rest:
        key = f"norm.{place.last}"
    return _RULES[key](sheet, run, place, index)


def kv_head(run: Run, place: Place, index: Index) -> int | None:
    """The shared key–value head behind a cell of a query head."""
    reads_one = place.last in ("scores", "masked", "pattern", "z")
    return run.group_of(index[0]) if reads_one and run.config.n_kv_heads < run.config.n_heads else None


# Tokens and embeddings


def _token(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    id = run.value(place, index)
    token = run.trace.tokenizer.token(int(id))
    sheet.read(
        "token",
        rf"\mathrm{{id}}_{{{index[0]}}}",
        operand(rf"\mathrm{{id}}_{{{index[0]}}}", id, Setting("vocabulary")),
        bytes=token.bytes.hex(" ").upper(),
        text=token.label,
        control=int(id) in run.trace.tokenizer.controls,
    )


def _embedding(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    id = run.cell(rf"\mathrm{{id}}_{{{t}}}", f"{place.prefix}tokens.ids", t)
    symbol = f"e_{{{t},{d}}}"
    scale = run.model.embedding_scale
    entry = run.weight(f"E_{{{int(id.value)},{d}}}", "embedding.weight", int(id.value), d)
    if scale == 1:
        sheet.write("row", symbol, "@1", (id, entry), entry.value, entry.size)
        return
    row = sheet.write("row", f"E_{{{int(id.value)},{d}}}", "@1", (id, entry), entry.value, entry.size)
    sheet.multiply(symbol, operand(r"\sqrt{D}", scale, Setting("d_model")), row)


def _segment(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    segment = run.trace.segments[t] if run.trace.segments else 0
    entry = run.weight(f"S_{{{segment},{d}}}", f"{place.side}.segment.weight", segment, d)
    kind = operand(rf"\mathrm{{segment}}_{{{t}}}", segment, Setting("segment"))
    sheet.write("row", f"s_{{{t},{d}}}", "@1", (kind, entry), entry.value, entry.size)


def _position(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    symbol, config = f"p_{{{t},{d}}}", run.config
    at = operand("t", t, Setting("position"))
    if not isinstance(config.position, variants.Sinusoidal):
        entry = run.weight(f"P_{{{t},{d}}}", f"{place.side}.position.table.weight", t, d)
        sheet.write("row", symbol, "@1", (at, entry), entry.value, entry.size)
        return
    half = config.d_model // 2
    pair, is_cosine = (d // 2, d % 2 == 1) if config.position.layout == "interleaved" else (d % half, d >= half)
    frequency = sheet.apply(
        "power",
        rf"\omega_{{{pair}}}",
        r"@0^{-2\cdot @1/@2}",
        lambda base, i, width: base ** (-2 * i / width),
        operand("b", config.position.base, Setting("position.base")),
        operand("i", pair, Setting("pair")),
        operand("D", config.d_model, Setting("d_model")),
        size=config.position.base ** (-2 * pair / config.d_model),
    )
    angle = sheet.multiply(rf"\varphi_{{{t},{pair}}}", at, frequency)
    name, function = (r"\cos", math.cos) if is_cosine else (r"\sin", math.sin)
    sheet.apply("wave", symbol, rf"{name} @0", function, angle, size=1.0)


def _embedded(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    t, d = index
    if run.config.embedding_norm:
        return _copy_of_norm(sheet, run, place, index, f"x_{{{t},{d}}}", f"{place.prefix}embed.norm.out")
    letters = {"token": "e", "segment": "s", "position": "p"}
    parts = [run.cell(f"{letters[_last(name)]}_{{{t},{d}}}", name, t, d) for name in run.embeddings(place)]
    return _total(sheet, f"x_{{{t},{d}}}", parts)


# Norms

_STREAMS = {"in": r"r^{\text{in}}", "mid": r"r^{\text{mid}}", "cross": r"r^{\text{cross}}", "out": r"r^{\text{out}}"}
_WRITES = {"attn": "a", "cross": "c", "ffn": "f"}


def _symbol(full: str) -> str:
    """The letter of a value that is read as a vector."""
    names = full.split(".")
    if names[-2] == "resid":
        return _STREAMS[names[-1]]
    if names[-2] == "embed":
        return {"token": "e", "segment": "s", "position": "p"}[names[-1]]
    return _WRITES.get(names[-2], "y")


def _mean(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    _, parts, _ = run.norm(place)
    _write_mean(sheet, "d", _factors(run, parts, index[0]), "D", rf"\mu_{{{index[0]}}}")


def _scale(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    norm, parts, _ = run.norm(place)
    t = index[0]
    if _has_no_norm(run):
        sheet.read("copy", rf"\sigma_{{{t}}}", operand("1", 1, Setting("norm")))
        return
    mean = None
    if run.config.norm.centred:
        mean = run.cell(rf"\mu_{{{t}}}", place.full.replace("norm.scale", "norm.mean"), t, 0)
    _write_scale(sheet, "d", _factors(run, parts, t), mean, norm.eps, "D", rf"\sigma_{{{t}}}")


def _normed(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    return _write_norm(sheet, run, place, index, f"n_{{{index[0]},{index[1]}}}")


def _has_no_norm(run: Run) -> bool:
    return isinstance(run.config.norm, variants.NoNorm)


def _factors(run: Run, parts: tuple[str, ...], t: int) -> tuple[Factor, ...]:
    return tuple(run.cells(f"{_symbol(part)}_{{{t},#}}", part, t, None) for part in parts)


def _write_mean(
    sheet: Sheet, variable: str, factors: tuple[Factor, ...], width: Literal["D", "K"], symbol: str
) -> Operand:
    values = cast(np.ndarray, sum(factor.values for factor in factors))
    together = float(sum(np.abs(factor.values).sum() for factor in factors))
    one = " + ".join(f"@{n}" for n in range(len(factors)))
    one = rf"\left({one}\right)" if len(factors) > 1 else one
    total = sheet.sum("sum", "s", Terms(variable, one, factors, values), size=together)
    return sheet.write(
        "mean",
        symbol,
        r"\frac{@0}{@1}",
        (total, _width(width, len(values))),
        total.value / len(values),
        together / len(values),
    )


def _write_scale(
    sheet: Sheet,
    variable: str,
    factors: tuple[Factor, ...],
    mean: Operand | None,
    eps: float,
    width: Literal["D", "K"],
    symbol: str,
) -> Operand:
    """√(mean of squares + ε), of what is left after the mean was taken away, where there is one."""
    values = cast(np.ndarray, sum(factor.values for factor in factors))
    one = " + ".join(f"@{n}" for n in range(len(factors)))
    if mean is not None:
        values, one = values - mean.value, f"{one} - {mean.symbol}"
    one = rf"\left({one}\right)^2" if mean is not None or len(factors) > 1 else f"{one}^2"
    squares = sheet.sum("squares", "s'", Terms(variable, one, factors, values**2), *([mean] if mean else []))
    scale = math.sqrt(squares.value / len(values) + eps)
    # Rounding is relative to what came in, before mean and parts cancelled.
    came_in = sum(float(np.sqrt((factor.values**2).mean())) for factor in factors)
    return sheet.write(
        "root",
        symbol,
        r"\sqrt{\frac{@0}{@1} + @2}",
        (squares, _width(width, len(values)), operand(r"\varepsilon", eps, Setting("norm.eps"))),
        scale,
        scale + came_in + (abs(mean.value) if mean is not None else 0.0),
    )


def _width(symbol: Literal["D", "K"], width: int) -> Operand:
    return operand(symbol, width, Setting("d_model" if symbol == "D" else "d_head"))


def _write_norm(sheet: Sheet, run: Run, place: Place, index: Index, symbol: str) -> Cell | None:
    """γ · (x − μ) / σ + β for one number; ``place`` is a site of the norm."""
    t, d = index
    _, parts, weights = run.norm(place)
    x = [run.cell(f"{_symbol(part)}_{{{t},{d}}}", part, t, d) for part in parts]
    if _has_no_norm(run):
        return _total(sheet, symbol, x)
    read = sheet.add(f"x_{{{t},{d}}}", *x) if len(x) > 1 else x[0]
    at = place.full.rpartition(".")[0]
    mean = run.cell(rf"\mu_{{{t}}}", f"{at}.mean", t, 0) if run.config.norm.centred else None
    _finish_norm(sheet, run, read, mean, run.cell(rf"\sigma_{{{t}}}", f"{at}.scale", t, 0), weights, d, symbol)
    return None


def _finish_norm(
    sheet: Sheet, run: Run, read: Operand, mean: Operand | None, scale: Operand, weights: str, column: int, symbol: str
) -> None:
    gain = run.weight(rf"\gamma_{{{column}}}", f"{weights}.weight", column)
    if mean is None:
        sheet.multiply(symbol, gain, sheet.divide(r"\hat{x}", read, scale))
        return
    unit = sheet.divide(r"\hat{x}", sheet.subtract(r"\tilde{x}", read, mean), scale)
    shift = run.weight(rf"\beta_{{{column}}}", f"{weights}.bias", column)
    sheet.add(symbol, sheet.multiply("y", gain, unit), shift)


def _copy_of_norm(sheet: Sheet, run: Run, place: Place, index: Index, symbol: str, normed: str) -> Cell:
    """A value that is what a norm puts out: worked out like it, unless an intervention changed it there."""
    if run.is_edited(normed):
        sheet.read("copy", symbol, run.cell(f"n_{{{index[0]},{index[1]}}}", normed, *index))
    else:
        _write_norm(sheet, run, run.place(normed), index, symbol)
    return Cell(normed, index)


# The residual stream


def _stream_in(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell:
    t, d = index
    before = f"{place.prefix}embed.out"
    if place.layer:
        before = f"{place.prefix}blocks.{place.layer - 1}.resid.out"
    letter = _STREAMS["out"] if place.layer else "x"
    sheet.read("copy", f"{_STREAMS['in']}_{{{t},{d}}}", run.cell(f"{letter}_{{{t},{d}}}", before, t, d))
    return Cell(before, index)


def _stream(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    t, d = index
    group = {"mid": "attn", "cross": "cross", "out": "ffn"}[place.last]
    out = run.place(f"{place.block}{group}.out")
    symbol = f"{_STREAMS[place.last]}_{{{t},{d}}}"
    if run.config.norm_at == "post":
        return _copy_of_norm(sheet, run, place, index, symbol, f"{place.block}{group}.norm.out")
    parts = [run.cell(f"{_symbol(name)}_{{{t},{d}}}", name, t, d) for name in run.left_by(out)]
    return _total(sheet, symbol, parts)


def _total(sheet: Sheet, symbol: str, parts: list[Operand]) -> Cell | None:
    if len(parts) > 1:
        sheet.add(symbol, *parts)
        return None
    sheet.read("copy", symbol, parts[0])
    return cast(Cell, parts[0].origin)


# Attention


def _linear(
    sheet: Sheet,
    run: Run,
    symbol: str,
    variable: str,
    read: Factor,
    names: tuple[str, str, str],
    row: int,
) -> Operand:
    """Σ x·W + b; ``names`` are the module's name and the letters of weight and bias."""
    module, weight, bias = names
    w = run.weights(f"{weight}_{{#,{row}}}", f"{module}.weight", row, None)
    if getattr(run.model.get_submodule(module), "bias", None) is None:
        return sheet.dot(symbol, variable, read, w)
    total = sheet.dot("s", variable, read, w)
    return sheet.add(symbol, total, run.weight(f"{bias}_{{{row}}}", f"{module}.bias", row))


def _projection(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, t, column = index
    letter = place.last
    source = run.reads(place)
    if place.group == "cross" and letter != "q":
        source = run.vectors("encoder")
    read = run.cells(f"x_{{{t},#}}", source, t, None)
    names = (f"{place.module}{place.group}.{letter}", f"W^{letter.upper()}", f"b^{letter.upper()}")
    _linear(sheet, run, _vector(letter, *index), "d", read, names, head * run.config.d_head + column)


def _vector(letter: str, head: int, t: int, column: int | str) -> str:
    """The symbol of a number of a head's query, key or value: q^{(1)}_{3,5}."""
    return f"{letter}^{{({head})}}_{{{t},{column}}}"


def _projection_normed(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    head, t, column = index
    letter = place.last[0]
    plain = f"{place.block}{place.group}.{letter}"
    symbol = _vector(rf"\hat{{{letter}}}", *index)
    if _has_no_norm(run):
        return _total(sheet, symbol, [run.cell(_vector(letter, *index), plain, *index)])
    weights = f"{place.module}{place.group}.qk_norm.{letter}"
    norm = cast(norms.Norm, run.model.get_submodule(weights))
    row = (run.cells(_vector(letter, head, t, "#"), plain, head, t, None),)
    mean = _write_mean(sheet, "c", row, "K", r"\mu") if run.config.norm.centred else None
    scale = _write_scale(sheet, "c", row, mean, norm.eps, "K", r"\sigma")
    read = run.cell(_vector(letter, head, t, column), plain, *index)
    _finish_norm(sheet, run, read, mean, scale, weights, column, symbol)
    return None


def _rotated(sheet: Sheet, run: Run, place: Place, index: Index) -> Cell | None:
    head, t, column = index
    letter = place.last[0]
    rope = cast(positions.Rope, run.stack(place).position)
    config = cast(variants.Rope, run.config.position)
    plain = f"{place.block}{place.group}.{letter}_normed"
    plain = plain if plain in run.trace.values else plain.removesuffix("_normed")
    letter = rf"\hat{{{letter}}}" if plain.endswith("_normed") else letter
    symbol = _vector(f"{place.last[0]}'", *index)
    n_pairs = len(rope.frequencies)
    own = run.cell(_vector(letter, *index), plain, *index)
    if column >= 2 * n_pairs:
        sheet.read("copy", symbol, own, n_rotated=2 * n_pairs)
        return Cell(plain, index)
    if rope.interleaved:
        pair, is_second, partner = column // 2, column % 2 == 1, column ^ 1
    else:
        pair, is_second = column % n_pairs, column >= n_pairs
        partner = pair if is_second else pair + n_pairs
    other = run.cell(_vector(letter, head, t, partner), plain, head, t, partner)
    frequency = _rotary_frequency(sheet, config, rope, pair, n_pairs)
    at = operand("t", t, Setting("position"))
    angle = sheet.multiply(rf"\varphi_{{{t},{pair}}}", at, frequency)
    cos = sheet.apply("wave", rf"\cos {angle.symbol}", r"\cos @0", math.cos, angle, size=1.0)
    sin = sheet.apply("wave", rf"\sin {angle.symbol}", r"\sin @0", math.sin, angle, size=1.0)
    expression = r"@0 \cdot @1 + @2 \cdot @3" if is_second else r"@0 \cdot @1 - @2 \cdot @3"
    turned = own.value * cos.value + (other.value if is_second else -other.value) * sin.value
    size = own.size + other.size
    if rope.stretch == 1:
        sheet.write("turn", symbol, expression, (own, cos, other, sin), turned, size, pair=pair)
    else:
        found = sheet.write("turn", "y", expression, (own, cos, other, sin), turned, size, pair=pair)
        sheet.multiply(symbol, operand("m", rope.stretch, Setting("position.scaling")), found)
    return None


def _rotary_frequency(sheet: Sheet, config: variants.Rope, rope: positions.Rope, pair: int, n_pairs: int) -> Operand:
    plain = float(ops.rotary_frequencies(2 * n_pairs, config.base)[pair])
    frequency = sheet.apply(
        "power",
        rf"\omega_{{{pair}}}",
        r"@0^{-2\cdot @1/@2}",
        lambda base, i, width: base ** (-2 * i / width),
        operand("b", config.base, Setting("position.base")),
        operand("i", pair, Setting("pair")),
        operand("R", 2 * n_pairs, Setting("position.fraction")),
        size=plain,
    )
    if config.scaling is None:
        return frequency
    stretched = operand(r"\kappa", float(rope.frequencies[pair]) / plain, Setting("position.scaling"))
    return sheet.multiply(rf"\omega'_{{{pair}}}", frequency, stretched)


def _cell_of(letter: str, head: int, i: int, j: int | str) -> str:
    return f"{letter}^{{({head})}}_{{{i},{j}}}"


def _scores(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, i, j = index
    at, shared = f"{place.block}{place.group}.", run.group_of(index[0])
    q, k = run.last_form(at, "q"), run.last_form(at, "k")
    forms = {"": "{0}", "_normed": r"\hat{{{0}}}", "_rotated": "{0}'"}
    written = [forms[name.removeprefix(f"{at}{letter}")].format(letter) for name, letter in ((q, "q"), (k, "k"))]
    queries = run.cells(_vector(written[0], head, i, "#"), q, head, i, None)
    keys = run.cells(_vector(written[1], shared, j, "#"), k, shared, j, None)
    symbol = _cell_of("S", *index)
    if run.attention(place).scale == 1:
        sheet.dot(symbol, "c", queries, keys)
        return
    product = sheet.dot("s", "c", queries, keys)
    root = operand(r"\sqrt{K}", 1 / run.attention(place).scale, Setting("d_head"))
    sheet.divide(symbol, product, root)


def _bias(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, i, j = index
    symbol = _cell_of("B", *index)
    scheme = run.stack(place).position
    key, query = operand("j", j, Setting("key")), operand("i", i, Setting("query"))
    if isinstance(scheme, positions.Alibi):
        slope = operand(f"-m_{{{head}}}", -float(scheme.slopes[head]), Setting("slope"))
        distance = sheet.write("distance", r"\delta", r"\left|@0 - @1\right|", (query, key), abs(i - j), abs(i - j))
        sheet.multiply(symbol, slope, distance)
        return
    name = f"{place.side}.position.buckets.weight"
    away = sheet.write("distance", r"\delta", "@0 - @1", (key, query), j - i, abs(j - i))
    t5 = cast(positions.T5Bias, scheme)
    bucket = int(t5.bucket(torch.tensor(j - i)))
    # Beyond the largest distance nothing new begins: the outermost buckets have no end.
    reach = torch.arange(-t5.max_distance, t5.max_distance + 1)
    shared = reach[t5.bucket(reach) == bucket]
    which = sheet.write(
        "bucket",
        r"\beta",
        r"\mathrm{bucket}(@0)",
        (away,),
        bucket,
        bucket,
        None,
        least=int(shared[0]),
        most=int(shared[-1]),
        open=t5.max_distance in (-int(shared[0]), int(shared[-1])),
    )
    entry = run.weight(f"b_{{{bucket},{head}}}", name, bucket, head)
    sheet.write("row", symbol, "@1", (which, entry), entry.value, entry.size)


def _mask(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    _, i, j = index
    is_visible = run.visible_row(place, i, run.shape(place)[2])[j].item()
    drawn = place.group == "attn" and place.side in run.trace.visible
    value = 0.0 if is_visible else -math.inf
    seen = (operand("i", i, Setting("query")), operand("j", j, Setting("key")))
    sheet.write(
        "mask",
        _cell_of("M", *index),
        "0" if is_visible else r"-\infty",
        seen,
        value,
        0.0,
        visible=bool(is_visible),
        drawn=drawn,
        window=run.config.window(place.side, cast(int, place.layer)) if place.group == "attn" else 0,
    )


def _masked(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    names = {"scores": "S", "bias": "B", "mask": "M"}
    at = f"{place.block}{place.group}."
    parts = [name for name in names if name != "bias" or _has_bias(run, place)]
    operands = [run.cell(_cell_of(names[name], *index), f"{at}{name}", *index) for name in parts]
    sheet.add(_cell_of(r"\tilde{S}", *index), *operands)


def _has_bias(run: Run, place: Place) -> bool:
    return place.group == "attn" and run.config.position.acts_on == "scores"


def _softmax(sheet: Sheet, row: Factor, variable: str, chosen: int, symbol: str) -> None:
    """exp(x − max) / Σ exp(x − max) of one entry of a row."""
    highest = int(row.values.argmax())
    top = sheet.read("maximum", "m", row.at(highest), at=highest)
    own = row.at(chosen)
    # An exponential's relative error is the absolute error of its exponent.
    growth = 1 + top.size + (own.size if math.isfinite(own.size) else 0.0)
    above = math.exp(own.value - top.value)
    power = sheet.write("exponential", "w", "e^{@0 - @1}", (own, top), above, above * growth)
    terms = Terms(variable, "e^{@0 - m}", (row,), np.exp(row.values - top.value))
    total = sheet.sum("sum", "s", terms, top)
    sheet.divide(symbol, power, total)


def _pattern(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, i, j = index
    row = run.cells(_cell_of(r"\tilde{S}", head, i, "#"), f"{place.block}{place.group}.masked", head, i, None)
    _softmax(sheet, row, "j", j, _cell_of("A", *index))


def _mixed(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, i, column = index
    at, shared = f"{place.block}{place.group}.", run.group_of(index[0])
    weights = run.cells(_cell_of("A", head, i, "#"), f"{at}pattern", head, i, None)
    values = run.cells(f"v^{{({shared})}}_{{#,{column}}}", f"{at}v", shared, None, column)
    sheet.dot(_vector("z", *index), "j", weights, values)


def _head_out(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    head, t, d = index
    width = run.config.d_head
    z = run.cells(_vector("z", head, t, "#"), f"{place.block}{place.group}.z", head, t, None)
    name = f"{place.module}{place.group}.o.weight"
    w = run.weights(f"W^{{O({head})}}_{{#,{d}}}", name, d, None, start=head * width, length=width)
    sheet.dot(f"o^{{({head})}}_{{{t},{d}}}", "c", z, w)


def _attended(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    heads = run.cells(f"o^{{(#)}}_{{{t},{d}}}", f"{place.block}{place.group}.head_out", None, t, d)
    terms = Terms("h", "@0", (heads,), heads.values.copy())
    symbol, name = f"{_WRITES[place.group]}_{{{t},{d}}}", f"{place.module}{place.group}.o"
    # A head's number is itself a sum: it rounds relative to its own terms.
    z = run.cells("z", f"{place.block}{place.group}.z", None, t, None).values.ravel()
    w = run.weights("w", f"{name}.weight", d, None).values
    size = float(np.abs(z * w).sum())
    if run.attention(place).o.bias is None:
        sheet.sum("sum", symbol, terms, size=size)
        return
    total = sheet.sum("sum", "s", terms, size=size)
    sheet.add(symbol, total, run.weight(f"b^O_{{{d}}}", f"{name}.bias", d))


# Feed-forward


def _neuron(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, f = index
    name = "gate" if place.last == "gate" else "up"
    label = rf"\text{{{name}}}" if run.config.ffn.gated else "1"
    read = run.cells(f"x_{{{t},#}}", run.reads(place), t, None)
    names = (f"{place.module}ffn.{name}", f"W^{{{label}}}", f"b^{{{label}}}")
    _linear(sheet, run, f"{name[0]}_{{{t},{f}}}", "d", read, names, f)


def _gate_activated(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, f = index
    gate = run.cell(f"g_{{{t},{f}}}", f"{place.block}ffn.gate", t, f)
    _activate(sheet, run.config.ffn.activation, gate, rf"\tilde{{g}}_{{{t},{f}}}")


def _activated(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, f = index
    up = run.cell(f"u_{{{t},{f}}}", f"{place.block}ffn.up", t, f)
    if isinstance(run.in_block(place).ffn, Dense):
        _activate(sheet, run.config.ffn.activation, up, f"h_{{{t},{f}}}")
        return
    gate = run.cell(rf"\tilde{{g}}_{{{t},{f}}}", f"{place.block}ffn.gate_act", t, f)
    # The gate's own rounding is relative to what it was before the activation.
    before = run.cell("g", f"{place.block}ffn.gate", t, f)
    sheet.multiply(f"h_{{{t},{f}}}", gate._replace(size=max(gate.size, before.size)), up)


def _activate(sheet: Sheet, activation: Activation, x: Operand, symbol: str) -> None:
    """One number through the activation; rounding is relative to what enters it."""
    match activation:
        case "relu":
            sheet.apply("activation", symbol, r"\max(0, @0)", lambda u: max(0.0, u), x, size=x.size)
        case "gelu":
            share = sheet.apply(
                "activation",
                r"\Phi",
                r"\tfrac{1}{2}\left(1 + \mathrm{erf}\tfrac{@0}{\sqrt{2}}\right)",
                lambda u: 0.5 * math.erfc(-u / math.sqrt(2)),
                x,
                size=1.0,
            )
            sheet.multiply(symbol, x, share)
        case "silu":
            share = sheet.apply("activation", r"\sigma", r"\frac{1}{1 + e^{-@0}}", _sigmoid, x, size=1.0)
            sheet.multiply(symbol, x, share)
        case "gelu_tanh":
            # Hendrycks & Gimpel 2016, section 2.
            inner = sheet.apply(
                "activation",
                "w",
                r"\sqrt{\tfrac{2}{\pi}}\left(@0 + 0.044715 \cdot @0^3\right)",
                lambda u: math.sqrt(2 / math.pi) * (u + 0.044715 * u**3),
                x,
                size=x.size,
            )
            half = r"\tfrac{1}{2}\left(1 + \tanh @0\right)"
            share = sheet.apply("activation", "y", half, lambda w: 0.5 * (1 + math.tanh(w)), inner, size=1.0)
            sheet.multiply(symbol, x, share)


def _sigmoid(x: float) -> float:
    """1 / (1 + e^−x), without an overflow for large −x."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _fed(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    label = r"\text{down}" if run.config.ffn.gated else "2"
    hidden = run.cells(f"h_{{{t},#}}", f"{place.block}ffn.act", t, None)
    names = (f"{place.module}ffn.down", f"W^{{{label}}}", f"b^{{{label}}}")
    _linear(sheet, run, f"f_{{{t},{d}}}", "n", hidden, names, d)


# Output


def _head_layer(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, d = index
    read = run.cells(f"x_{{{t},#}}", run.vectors(place.side), t, None)
    total = _linear(sheet, run, "u", "d", read, ("head.dense", "W^H", "b^H"), d)
    head = cast(variants.MaskedHead, run.config.head)
    _activate(sheet, head.activation, total, f"y_{{{t},{d}}}")


def _logits(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, w = index
    is_masked = isinstance(run.config.head, variants.MaskedHead)
    read = run.cells(f"x_{{{t},#}}", "head.norm.out" if is_masked else run.vectors(place.side), t, None)
    letter = "E" if run.config.tie_embeddings else "U"
    row = run.weights(f"{letter}_{{{w},#}}", run.unembedding, w, None)
    symbol, factor = rf"\ell_{{{t},{w}}}", run.model.head.scale
    has_bias = run.model.unembedding.bias is not None
    made = sheet.dot("s" if has_bias or factor != 1 else symbol, "d", read, row)
    if factor != 1:
        root = operand(r"D^{-1/2}", factor, Setting("d_model"))
        made = sheet.multiply("y" if has_bias else symbol, root, made)
    if has_bias:
        sheet.add(symbol, made, run.weight(f"b_{{{w}}}", "head.unembedding.bias", w))


def _probability(sheet: Sheet, run: Run, place: Place, index: Index) -> None:
    t, w = index
    row = run.cells(rf"\ell_{{{t},#}}", "logits", t, None)
    _softmax(sheet, row, "v", w, f"p_{{{t},{w}}}")


def _last(name: str) -> str:
    return name.rpartition(".")[2]


_RULES: dict[str, Rule] = {
    "tokens.ids": _token,
    "embed.token": _embedding,
    "embed.segment": _segment,
    "embed.position": _position,
    "embed.out": _embedded,
    "norm.mean": _mean,
    "norm.scale": _scale,
    "norm.out": _normed,
    "resid.in": _stream_in,
    "resid.mid": _stream,
    "resid.cross": _stream,
    "resid.out": _stream,
    "q": _projection,
    "k": _projection,
    "v": _projection,
    "q_normed": _projection_normed,
    "k_normed": _projection_normed,
    "q_rotated": _rotated,
    "k_rotated": _rotated,
    "scores": _scores,
    "bias": _bias,
    "mask": _mask,
    "masked": _masked,
    "pattern": _pattern,
    "z": _mixed,
    "head_out": _head_out,
    "attn.out": _attended,
    "cross.out": _attended,
    "ffn.gate": _neuron,
    "ffn.gate_act": _gate_activated,
    "ffn.up": _neuron,
    "ffn.act": _activated,
    "ffn.out": _fed,
    "head.act": _head_layer,
    "logits": _logits,
    "probs": _probability,
}
