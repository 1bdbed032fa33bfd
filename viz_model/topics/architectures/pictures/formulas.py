"""How many parameters: a formula for each kind of thing that has some, and one block by hand."""

from __future__ import annotations

import re

from viz_model.config import ModelConfig
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.architectures.numbers.parameters import Node
from viz_model.topics.architectures.pictures.common import Words

_LETTERS = {"T": r"T_{\max}", "B": r"B_{\mathrm{buckets}}"}


def formula(row: parameters.Row, config: ModelConfig) -> str:
    """LaTeX: copies × (sum of products) in letters, in numbers, and what it comes to."""
    sizes = parameters.sizes(config)

    def product(term: parameters.Term, numbers: bool) -> str:
        times = [str(term.times)] if term.times > 1 else []
        if numbers:
            return r" \cdot ".join([*times, *(f"{sizes[letter]:,}" for letter in term.letters)])
        return r"\,".join([*times, *(_LETTERS.get(letter, letter) for letter in term.letters)])

    def total(numbers: bool) -> str:
        inner = " + ".join(product(term, numbers) for term in row.terms)
        if row.copies == 1:
            return inner
        return rf"{row.copies} \cdot {inner}" if len(row.terms) == 1 else rf"{row.copies} \cdot \left({inner}\right)"

    found = f"{row.copies * parameters.value(row, config):,}"
    lines = rf"&{total(False)}\\ &= {total(True)} = \mathbf{{{found}}}"
    return rf"\begin{{aligned}}{_thousands(lines)}\end{{aligned}}"


def formulas(config: ModelConfig, words: Words) -> list[tuple[str, str]]:
    """For each kind of thing that has parameters: its name, and its formula."""
    return [(words(f"row_{row.key}", n=row.copies), formula(row, config)) for row in parameters.formulas(config)]


def _thousands(latex: str) -> str:
    """Commas between digits without the space that LaTeX puts after a comma."""
    return re.sub(r"(?<=\d),(?=\d)", "{,}", latex)


def by_hand(block: Node) -> dict[str, str]:
    """One block, matrix by matrix: lines of LaTeX that end in its sum, and the share of each part."""
    lines = []
    sums: dict[str, int] = {}
    for path, leaf in parameters.leaves(block):
        factors = [r" \cdot ".join(f"{size:,}" for size in sizes) for sizes in leaf.shapes.values()]
        name = path.replace("_", r"\_")
        lines.append(rf"\texttt{{{name}}}: &\quad {' + '.join(factors)} &&= {leaf.size:,}")
        part = parameters.part(f"{path}.weight")
        sums[part] = sums.get(part, 0) + leaf.size
    body = _thousands(r" \\ ".join([*lines, rf"\Sigma & &&= \mathbf{{{block.size:,}}}"]))
    return {
        "lines": rf"\begin{{aligned}}{body}\end{{aligned}}",
        "total": f"{block.size:,}",
        "ffn": f"{sums['ffn']:,}",
        "share": f"{sums['ffn'] / block.size:.1%}",
        "attention": f"{sums['attention']:,}",
        "attention_share": f"{sums['attention'] / block.size:.1%}",
    }
