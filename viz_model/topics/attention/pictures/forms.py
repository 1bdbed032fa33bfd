"""A query and a key in each form that they take before they meet."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from viz_model.drawing.cells import Cells
from viz_model.drawing.strips import Strip, StripsView, top_of


class FormsView(NamedTuple):
    """One query and one key in each form they take: as projected, normalised, rotated.

    ``queries`` and ``keys`` are [F, K]; ``products`` [F, T] are the dot products of the query with
    every key in the same form; ``visible`` [T] says which keys the query sees. ``cells`` by letter, "q" and "k",
    say for each form which numbers of the run these are. ``turns``: what position does to them is a rotation.
    """

    forms: tuple[str, ...]
    query: int
    key: int
    queries: np.ndarray
    keys: np.ndarray
    products: np.ndarray
    visible: np.ndarray
    cells: Mapping[str, tuple[Cells, ...]] = MappingProxyType({})
    turns: bool = True

    def facts(self, form: str) -> dict[str, str]:
        """For prose: lengths, product and the spread of products, before a form was taken and in it."""
        now = self.forms.index(form)
        facts: dict[str, str] = {}
        for name, n in (("before", now - 1), ("after", now)):
            seen = self.products[n][self.visible]
            facts |= {
                f"q_{name}": f"{np.linalg.norm(self.queries[n]):.2f}",
                f"k_{name}": f"{np.linalg.norm(self.keys[n]):.2f}",
                f"product_{name}": f"{self.products[n, self.key]:.2f}",
                f"low_{name}": f"{seen.min():.2f}",
                f"high_{name}": f"{seen.max():.2f}",
            }
        return facts

    @property
    def notes(self) -> dict[str, str]:
        """What happened on the way to each form after the first: normed, rotated, rotated and stretched, or placed.

        Rotated by the same angle, where a token meets its own key; placed is changed by position in another way.
        """
        turned = "_rotated_itself" if self.query == self.key else "_rotated"
        notes = {}
        for n, form in enumerate(self.forms[1:], start=1):
            before, after = (
                np.linalg.norm([vectors[at] for vectors in (self.queries, self.keys)], axis=-1) for at in (n - 1, n)
            )
            kept = np.allclose(before, after, rtol=1e-3)
            placed = "_placed" if not self.turns else turned if kept else "_stretched"
            notes[form] = placed if form == "_rotated" else form
        return notes


def form_strips(view: FormsView, names: Mapping[str, str], lengths: Mapping[str, str]) -> StripsView:
    """A strip of K cells for the query and the key in each form, with its length behind it.

    ``names`` has a name for ``q`` and ``k`` in each form, such as "q_normed"; ``lengths`` has "length", to which
    the length is added, and "axis". All strips of a form share one colour scale.
    """
    tops = [top_of(np.stack([view.queries[n], view.keys[n]])) for n in range(len(view.forms))]
    drawn = [
        Strip(
            name=names[letter + form],
            values=vectors[n],
            top=tops[n],
            cells=view.cells[letter][n] if view.cells else None,
            behind=f"{lengths['length']} {np.linalg.norm(vectors[n]):.2f}",
        )
        for letter, vectors in (("q", view.queries), ("k", view.keys))
        for n, form in enumerate(view.forms)
    ]
    columns = tuple(str(dimension) for dimension in range(view.queries.shape[-1]))
    return StripsView(tuple(drawn), columns, 56 + 34 * len(drawn), column_axis=lengths["axis"])
