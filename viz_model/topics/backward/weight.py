"""One weight: its gradient as a sum over the tokens, and what a step down does to it and to the loss."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.digits import percent, written
from viz_model.drawing.scene import Scene
from viz_model.explain import Step
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field
from viz_model.island.prose import Line
from viz_model.runs.derivation import Derivation, Terms
from viz_model.topics.backward.asked import facts, found, has_room

MATRIX, ENTRY, RATE, PLACE = "matrix", "entry", "rate", r"\d{1,5},\d{1,5}"
MATRICES = ("ffn.down", "ffn.up", "ffn.gate", "attn.q", "attn.k", "attn.v", "attn.o")
RATES = tuple(10.0**-n for n in range(7, -1, -1))
USUAL = 2
MOST_BARS = 12
"""Tokens that have a bar: the last ones up to the selected."""
NEAR = 0.1
"""How far a measured change may lie from the predicted one, as a share of that, and still be called the same."""


def names(look: Look) -> dict[str, str]:
    """The matrices of the selected block that one can choose, by their short names: their full names."""
    side, layer = look.trace.stack.side, look.config.weights_of(look.layer)
    full = {short: f"{side}.blocks.{layer}.{short}.weight" for short in MATRICES}
    known = dict(look.trace.model.named_parameters())
    return {short: name for short, name in full.items() if name in known}


def chosen(look: Look) -> tuple[str, tuple[int, int]]:
    """The full name of the matrix, and the row and column of the weight; unasked the one of the largest gradient."""
    known, said = names(look), look.options.get(MATRIX, "")
    full = known.get(said) or next(iter(known.values()))
    if not has_room(look):
        return full, (0, 0)
    gradient = found(look).weights[full]
    row, _, column = look.options.get(ENTRY, "").partition(",")
    if row.isdecimal() and column.isdecimal() and int(row) < gradient.shape[0] and int(column) < gradient.shape[1]:
        return full, (int(row), int(column))
    at = divmod(int(gradient.abs().argmax()), gradient.shape[1])
    return full, at


def symbol(look: Look, full: str) -> str:
    """LaTeX of a matrix."""
    return found(look).site(full).symbol.removeprefix(r"\mathrm{d}")


def choose(look: Look) -> Chooser:
    options = {short: str(look.words(f"matrix_{short.replace('.', '_')}")) for short in names(look)}
    return Chooser(MATRIX, options, look.words("matrix"), look.words("matrix_help"), asks=True, anew=(ENTRY,))


def field(look: Look) -> Field:
    hint = ",".join(map(str, chosen(look)[1]))
    return Field(ENTRY, look.words("entry"), look.words("entry_help"), hint, most=11, pattern=PLACE)


def derived(look: Look) -> Derivation:
    full, at = chosen(look)
    return found(look).derive(full, at)


def terms(look: Look) -> Terms:
    """What each token adds to the gradient of the weight."""
    sums = (step.terms for step in derived(look).steps if step.terms is not None)
    return next(one for one in sums if len(one) == len(look))


def draw(look: Look) -> Scene:
    every, here = terms(look), found(look)
    rows = tuple(range(max(0, look.token + 1 - MOST_BARS), look.token + 1))
    values = every.values[list(rows)]
    factors = [factor for factor in every.factors if here.name("") in factor.line.name]
    where = None
    if factors:
        line = factors[0].line
        index: tuple[Any, ...] = tuple(part if isinstance(part, int) else ROW for part in line.index)
        where = Cells(line.name, index, rows)
    series = [chart.Bars("", values, "output", "{{name}} {{value}}", "g2", where=where)]
    scale = chart.axis(values, title=look.words("terms_axis"), write="g2", room=0.15)
    labels = [look.labels[n] for n in rows]
    scene = chart.bars("backward.terms", look.words("terms_alt"), labels, series, scale, row=20)
    return look.drawn(look.only_here(scene, token=True), data=values)


def title(look: Look) -> Iterator[Line]:
    yield look.title("weight_title", **_facts(look))


def _facts(look: Look) -> dict[str, Any]:
    (full, at), here = chosen(look), found(look)
    value, gradient = float(look.trace.model.get_parameter(full)[at]), float(here.weights[full][at])
    return {
        **facts(look),
        "matrix": f"${symbol(look, full)}$",
        "row": at[0],
        "column": at[1],
        "value": written(value, "g4"),
        "gradient": written(gradient, "g3"),
        "count": f"{sum(one.numel() for one in here.weights.values()):,}",
    }


def tell(look: Look) -> Iterator[Line]:
    values = terms(look).values
    most = int(np.abs(values).argmax())
    said = {"formula": derived(look).formula, "most": look.code_name(most), "added": written(values[most], "g3")}
    gradient = float(values.sum())
    key = "weight_none" if gradient == 0 else "weight_up" if gradient < 0 else "weight_down"
    yield look.text("weight", **_facts(look), **said)
    yield look.text(key, **_facts(look))


# A step


def choose_rate(look: Look) -> Chooser:
    options = {str(n): written(rate, "g1") for n, rate in enumerate(RATES)}
    return Chooser(RATE, options, look.words("rate"), look.words("rate_help"), str(USUAL), asks=True, is_scale=True)


def rate(look: Look) -> float:
    """The one that is chosen."""
    said = str(look.options.get(RATE, ""))
    return RATES[int(said) if said.isdecimal() and int(said) < len(RATES) else USUAL]


def step(look: Look) -> Step:
    """What a step at the chosen rate does."""
    here = found(look)

    def measured(look: Look) -> Step:
        with look.turn():
            return here.step(rate(look))

    return look.once(measured, ("step", look.token, here.token, rate(look)))


STEP: Verdict[Step] = Verdict(
    "backward.step",
    Claim("agrees", lambda one: abs(one.measured - one.predicted) <= NEAR * abs(one.predicted)),
    Claim("rises", lambda one: one.measured > 0),
    Claim("less", lambda one: abs(one.measured) < abs(one.predicted)),
)


def draw_step(look: Look) -> Scene:
    one = step(look)
    labels = [str(look.words(key)) for key in ("predicted", "measured")]
    values = np.array([one.predicted, one.measured])
    series = [chart.Bars("", values, "output", "{{name}} {{value}}", "g3", fill=["residual", "output"])]
    scale = chart.axis(values, title=look.words("change_axis"), write="g2", room=0.25)
    scene = chart.bars("backward.step", look.words("step_alt"), labels, series, scale)
    return look.drawn(look.only_here(scene, layer=False, token=True), data=one)


def tell_step(look: Look) -> Iterator[Line]:
    one, (full, at), here = step(look), chosen(look), found(look)
    value, gradient = float(look.trace.model.get_parameter(full)[at]), float(here.weights[full][at])
    said = {
        **_facts(look),
        "rate": written(one.rate, "g1"),
        "after": written(value - one.rate * gradient, "g6"),
        "before": written(value, "g6"),
        "norm": written(here.norm, "g3"),
        "predicted": written(one.predicted, "g3"),
        "measured": written(one.measured, "g3"),
        "share_after": percent(one.probability),
    }
    yield look.text("step", **said)
    yield look.claim(STEP, one, "", **said)
