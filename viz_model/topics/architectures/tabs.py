"""The four tabs: formulas of all parameters, one block by hand, code, and every count; and the question."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viz_model.config import ModelConfig
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line, line
from viz_model.island.quiz import largest
from viz_model.island.tabs import Tabs, Worked
from viz_model.topics.architectures import pair, parameters, parts, where
from viz_model.topics.architectures.parameters import Node

NAMED = frozenset("VDHGKF1")
"""Letters that the first sentence explains, and the length of what is a single number."""
_LETTERS = {"C": r"T_{\max}", "B": r"B_{\mathrm{buckets}}"}


def formula(row: parameters.Row) -> str:
    """LaTeX: copies × (sum of products) in letters, in numbers, and what it comes to."""

    def product(term: parameters.Term, numbers: bool) -> str:
        times = [str(term.times)] if term.times > 1 else []
        if numbers:
            return r" \cdot ".join([*times, *(f"{size:,}" for _, size in term.axes)]) or "1"
        return r"\,".join([*times, *(_LETTERS.get(letter, letter) for letter, _ in term.axes)]) or "1"

    def total(numbers: bool) -> str:
        inner = " + ".join(product(term, numbers) for term in row.terms)
        if row.copies == 1:
            return inner
        return rf"{row.copies} \cdot {inner}" if len(row.terms) == 1 else rf"{row.copies} \cdot \left({inner}\right)"

    lines = rf"&{total(False)}\\ &= {total(True)} = \mathbf{{{row.copies * row.value:,}}}"
    return rf"\begin{{aligned}}{_thousands(lines)}\end{{aligned}}"


def formulas(look: Look) -> list[tuple[str, str]]:
    """For each kind of thing that has parameters: its name, and its formula."""

    def name(row: parameters.Row) -> str:
        own = look.t.site_label(row.site)
        return parts.said(look, f"row_{row.key}", own, n=row.copies, label=own[:1].upper() + own[1:])

    return [(name(row), formula(row)) for row in parameters.formulas(look.config)]


def _thousands(latex: str) -> str:
    """Commas between digits without the space that LaTeX puts after a comma."""
    return re.sub(r"(?<=\d),(?=\d)", "{,}", latex)


def by_hand(block: Node) -> dict[str, str]:
    """One block, matrix by matrix: lines of LaTeX that end in its sum, and the share of each part."""
    lines = []
    sums: dict[str, int] = {}
    for path, leaf in parameters.leaves(block):
        factors = [r" \cdot ".join(f"{size:,}" for size in sizes) or "1" for sizes in leaf.shapes.values()]
        path = path or next(iter(leaf.shapes))  # what the block has without a module
        name = path.replace("_", r"\_")
        own = leaf.size - sum(child.size for child in leaf.children)
        lines.append(rf"\texttt{{{name}}}: &\quad {' + '.join(factors)} &&= {own:,}")
        part = parameters.part(f"{path}.weight")
        sums[part] = sums.get(part, 0) + own
    body = _thousands(r" \\ ".join([*lines, rf"\Sigma & &&= \mathbf{{{block.size:,}}}"]))
    return {
        "lines": rf"\begin{{aligned}}{body}\end{{aligned}}",
        "total": f"{block.size:,}",
        "ffn": f"{sums.get('ffn', 0):,}",
        "share": f"{sums.get('ffn', 0) / block.size:.1%}",
        "attention": f"{sums.get('attention', 0):,}",
        "attention_share": f"{sums.get('attention', 0) / block.size:.1%}",
    }


def begins(look: Look) -> Iterator[Line]:
    yield look.text("formula", first=pair.own(look).code_name)
    if {letter for row in parameters.formulas(look.config) for term in row.terms for letter, _ in term.axes} - NAMED:
        yield look.text("formula_other")
    yield look.text("cache_formula")
    for name, latex in formulas(look):
        yield line(f"**{name}**\n\n$$\n{latex}\n$$")


def hand(look: Look) -> tuple[Line, Sequence[Worked], dict[str, Any]]:
    one = pair.own(look)
    facts = by_hand(parameters.tree(one.model.stack(one.side).block(look.layer)))
    return look.text("hand", model=one.code_name, layer=look.layer, **facts), (), {}


def records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    if look.other is None:
        return []
    return [("parameters", "", where.counted(look)), ("published", "", where.published(look))]


def _snippet(config: ModelConfig) -> str:
    """Where attention is four matrices their sizes follow from the config; elsewhere they are listed."""
    return "architectures" if config.attends and not config.attention_sink else "architectures_mixed"


TABS = Tabs(
    lambda look: (), hand, lambda look: (), lambda look: None, begins=begins,
    own=lambda look: (_snippet(look.config), {"layer": look.layer}), records=records,
)  # fmt: skip


def quiz(look: Look) -> Quiz | None:
    """Where most of the model's numbers are."""
    counts = {part: size for part, size in parameters.count(look.trace.model).items() if size}
    total, named = sum(counts.values()), [look.words(f"where_{part}") for part in counts]
    shares = np.array([size / total for size in counts.values()])
    model = pair.own(look).code_name
    return largest(look, "", shares, named, "percent", total=f"{total:,}", model=model)
