"""What the four tabs of this page have, and what is asked at its end."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.quiz import largest, spread
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.measures import stream
from viz_model.topics.block import neurons, norm, weights
from viz_model.topics.block.vectors import Vectors, dimension, facts, of_one

_LETTERS = ("t", "x", "h", "a", "c", "f")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

FORMULAS = ("resid.", "attn.norm.", "attn.out", "cross.norm.", "cross.out", "ffn.")
"""What the names of a block's own sites begin with; the steps inside attention have their page."""


def _own(look: Look) -> list[str]:
    names = tuple(map(look.site, FORMULAS))
    return [site for site in look.trace.sites if site.startswith(names)]


def said(look: Look) -> Iterator[Line]:
    found = of_one(look)
    yield look.text(f"formula_{found.kind}", equations=equations(found))
    yield look.text(look.kind("numbered", found.numbering), norm=found.norm)


def hand(look: Look) -> tuple[Line, Sequence[Worked], dict[str, Any]]:
    """The sums of a dimension, its value after a norm, and the strongest neuron."""
    found, at, token = of_one(look), dimension(look), look.token
    sums = look.text(f"hand_sums_{found.of_sums}", dimension=at, sums=sums_by_hand(found, at))
    given: dict[str, Any] = {**facts(look), "dimension": at}
    numbers: list[Worked] = []
    if found.has_norms:
        prefix = f"{look.site(norm.which(look))}.norm."
        for site in (name for name in look.trace.sites if name.startswith(prefix)):
            key = ("hand_normed", at) if look.trace.site(site).axes[-1] == "D" else ("hand_measured", 0)
            before = () if numbers else ("block.hand_norm",)
            numbers.append(Worked((*before, f"block.{key[0]}"), site, (token, key[1])))
    if not neurons.count(look):
        words = "block.hand_no_neurons", "block.hand_out_none"
        return sums, [*numbers, Worked(words, look.site("ffn.out"), (token, at))], given
    if not (strongest := neurons.of_one(look).strongest):
        return Line(f"{sums.words}\n\n{look.text('hand_neuron_none').words}"), numbers, given
    neuron = strongest[0]
    written = f"{theme.signed(neuron.act)} \\cdot {theme.signed(neuron.value[at])}"
    made = {"gate": neuron.gate, "gate_act": neuron.gate, "up": neuron.up, "act": neuron}
    cells = {name: (token, neuron.number) for name, one in made.items() if one is not None} | {"out": (token, at)}
    first = "block.hand_neuron"
    for name, cell in cells.items():
        if look.has(f"ffn.{name}"):
            numbers.append(
                Worked(
                    (first, f"block.hand_{name}") if first else (f"block.hand_{name}",), look.site(f"ffn.{name}"), cell
                )
            )
            first = ""
    return sums, numbers, given | {"neuron": neuron.number, "written": written}


def code(look: Look) -> list[str]:
    """What its neurons hold, then all in order."""
    return sorted(_own(look), key=lambda name: name != look.site("ffn.act"))


def numbers(look: Look) -> Table:
    found = of_one(look)
    names = [f"{step.name} · {step.site}" for step in found.steps]
    return f"blocks.{look.layer}[{look.token}]", found.matrix, names, list(map(str, range(look.config.d_model)))


def tables(look: Look) -> Iterator[Table]:
    trace = look.trace
    yield "resid.length", stream.stream_lengths(trace), stream.stream_names(trace), look.labels
    if neurons.count(look):
        table = neurons.of_one(look).table()
        names = [str(int(number)) for number in table.pop("neuron")]
        yield f"blocks.{look.layer}.ffn[{look.token}]", np.array(list(table.values())).T, names, tuple(table)
    found = weights.weights(trace, look.layer).matrices
    rows = [f"{one.name} [{' × '.join(map(str, one.shape))}]" for one in found]
    counts = np.array([[one.n_parameters] for one in found])
    yield f"blocks.{look.layer}.parameters", counts, rows, ("parameters",)


TABS = Tabs(_own, hand, code, numbers, begins=said, tables=lambda look: list(tables(look)))


def to_try(look: Look) -> Iterable[Line]:
    """Something to find out by trying, and what one finds."""
    reader = of_one(look).reader or ("_two_way" if look.trace.stack.side == "encoder" else "")
    return say.to_try(f"question{reader}", f"answer{reader}")(look)


def quiz(look: Look) -> Quiz | None:
    """In which block the selected token's vector changes most, by the length of the change."""
    names = ["embed.out", *(look.site("resid.out", layer) for layer in range(look.n_layers))]
    rows = [look.trace[name].numpy() for name in names]
    changes = [
        np.linalg.norm(after - before, axis=-1) / np.maximum(np.linalg.norm(before, axis=-1), 1e-30)
        for before, after in itertools.pairwise(rows)
    ]
    shown = spread(look.n_layers)
    labels = [look.common("guess_block", n=n) for n in shown]
    values = np.stack(changes, -1)[:, shown]
    return largest(look, "token", values, labels, "percent", token=look.token_named())


# The block as equations


def equations(found: Vectors) -> str:
    """The block of one token as lines of LaTeX, each with its number where it has one."""
    lines = []
    for step in found.steps:
        if step.formula:
            number = f" & ({step.equation})" if step.equation else ""
            lines.append(f"{_latex(step.name)} &= {_latex(step.formula)}{number}")
    return "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}"


def _latex(said: str) -> str:
    """A name or a formula of the steps as LaTeX: t³ with its index, words upright, vectors bold."""
    plain = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: f"^{{{found[0].translate(_SUPERSCRIPTS)}}}", said)
    return re.sub(
        "[A-Za-z]+", lambda found: rf"\{'mathbf' if found[0] in _LETTERS else 'text'}{{{found[0]}}}", plain
    ).replace("…", r"\dots")


def sums_by_hand(found: Vectors, dimension: int) -> str:
    """The residual sums in one dimension, as LaTeX."""
    value = {step.name: float(step.values[dimension]) for step in found.steps}
    numbers = {step.name: step.equation for step in found.steps}
    lines = []
    for one in found.sums:
        if not found.residual:
            lines.append(f"{_scalar(one.total)} &= {value[one.total]:.4f}")
            continue
        first, second = one.stream, one.written
        if found.norm_at != "post":
            first, second = second, first
        said = f"{theme.signed(value[first])} + {theme.signed(value[second])} = {value[one.total]:.4f}"
        names = f"{_scalar(first)} + {_scalar(second)}"
        names = f"{names} &" if found.norm_at == "post" else f"{_scalar(one.total)} &= {names}"
        number = f" & ({numbers[one.total]})" if numbers[one.total] else ""
        lines.append(f"{names} = {said}{number}")
    return "\\begin{aligned}\n" + "\\\\\n".join(lines) + "\n\\end{aligned}"


def _scalar(said: str) -> str:
    """One value of a vector: its letter, but not bold."""
    return _latex(said).replace(r"\mathbf", "")
