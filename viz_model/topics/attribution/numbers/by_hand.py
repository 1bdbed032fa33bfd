"""The sum and one of its parts worked out for prose, and all parts for a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.topics.attribution.numbers.attribution import Attribution
from viz_model.topics.attribution.pictures.sum import SumView


def sum_by_hand(view: SumView) -> str:
    """The sum written out, as LaTeX: the shown parts, the others in one, and the total."""
    terms = [theme.signed(value, 3) for value in view.values]
    lines = [" + ".join(terms[n : n + 5]) for n in range(0, len(terms), 5)]
    rest = rf" + \underbrace{{{theme.signed(view.rest, 3)}}}_{{{view.n_rest}}}" if view.n_rest else ""
    return r" \\ {}+ ".join(lines) + rest + rf" = {view.total:.3f}"


def part_by_hand(written: np.ndarray, direction: np.ndarray, most: int = 3) -> dict[str, str]:
    """One part's dot product with the direction at its place [D], by its largest terms, as LaTeX."""
    products = written * direction
    largest = np.argsort(-np.abs(products), kind="stable")[:most]
    terms = " + ".join(rf"{theme.signed(written[d])} \cdot {theme.signed(direction[d])}" for d in largest)
    return {"terms": terms, "product": f"{products.sum():.4f}", "n_terms": str(len(products) - len(largest))}


def columns(answer: Attribution, heading: Mapping[str, str]) -> dict[str, list[Any]]:
    """All parts as the columns of a table: "part" the site, "layer" and "value"."""
    order = answer.order()
    return {
        heading["part"]: [answer.parts[row].site for row in order],
        heading["layer"]: [answer.parts[row].layer for row in order],
        heading["value"]: [float(answer.values[row]) for row in order],
    }
