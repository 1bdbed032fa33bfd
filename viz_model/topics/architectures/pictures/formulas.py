"""How many parameters: a formula for each kind of thing that has some, and one block by hand."""

from __future__ import annotations

import re
from collections.abc import Callable

from viz_model.config import ModelConfig
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.architectures.numbers.parameters import Node
from viz_model.topics.architectures.pictures.common import Words, said
from viz_model.values.declaration import Site

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


def formulas(config: ModelConfig, words: Words, label: Callable[[Site], str]) -> list[tuple[str, str]]:
    """For each kind of thing that has parameters: its name, and its formula. ``label`` names a value."""

    def name(row: parameters.Row) -> str:
        own = label(row.site)
        return said(words, f"row_{row.key}", own, n=row.copies, label=own[:1].upper() + own[1:])

    return [(name(row), formula(row)) for row in parameters.formulas(config)]


def _thousands(latex: str) -> str:
    """Commas between digits without the space that LaTeX puts after a comma."""
    return re.sub(r"(?<=\d),(?=\d)", "{,}", latex)


def by_hand(block: Node) -> dict[str, str]:
    """One block, matrix by matrix: lines of LaTeX that end in its sum, and the share of each part."""
    lines = []
    sums: dict[str, int] = {}
    for path, leaf in parameters.leaves(block):
        factors = [r" \cdot ".join(f"{size:,}" for size in sizes) or "1" for sizes in leaf.shapes.values()]
        name = path.replace("_", r"\_")
        lines.append(rf"\texttt{{{name}}}: &\quad {' + '.join(factors)} &&= {leaf.size:,}")
        part = parameters.part(f"{path}.weight")
        sums[part] = sums.get(part, 0) + leaf.size
    body = _thousands(r" \\ ".join([*lines, rf"\Sigma & &&= \mathbf{{{block.size:,}}}"]))
    return {
        "lines": rf"\begin{{aligned}}{body}\end{{aligned}}",
        "total": f"{block.size:,}",
        "ffn": f"{sums.get('ffn', 0):,}",
        "share": f"{sums.get('ffn', 0) / block.size:.1%}",
        "attention": f"{sums.get('attention', 0):,}",
        "attention_share": f"{sums.get('attention', 0) / block.size:.1%}",
    }
