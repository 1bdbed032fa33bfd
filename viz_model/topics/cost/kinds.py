"""How many heads of each layer do what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from viz_model.drawing import axes, bars, sheet, theme
from viz_model.drawing.writing import hover
from viz_model.topics.cost.pictures.common import Words


class KindsView(NamedTuple):
    """How many heads of each layer do what: ``counts`` [L] a kind; ``heads`` [L] a kind names them.

    ``kinds`` are all kinds there are, each with a colour of its own.
    """

    counts: Mapping[str, np.ndarray]
    heads: Mapping[str, tuple[str, ...]]
    kinds: tuple[str, ...]
    n_layers: int

    @classmethod
    def of(
        cls, found: Sequence[Sequence[str]], entropies: Sequence[Sequence[float]], kinds: tuple[str, ...]
    ) -> KindsView:
        """``found`` [L][H] names each head's kind."""
        counts: dict[str, np.ndarray] = {}
        named: dict[str, tuple[str, ...]] = {}
        for kind in kinds:
            members = [[h for h, own in enumerate(layer) if own == kind] for layer in found]
            if any(members):
                counts[kind] = np.array([len(layer) for layer in members])
                named[kind] = tuple(
                    ", ".join(f"{h} ({entropies[n][h]:.2f})" for h in layer) for n, layer in enumerate(members)
                )
        return cls(counts, named, kinds, len(found))

    def total(self) -> Counter[str]:
        return Counter({kind: int(values.sum()) for kind, values in self.counts.items()})


def draw_kinds(view: KindsView, names: Words, words: Words) -> sheet.Sheet:
    """A bar a layer, cut into its heads by kind. ``words`` has "layer", "heads" and "entropy"."""
    figure = sheet.Sheet()
    for kind, values in view.counts.items():
        bars.across(
            figure,
            values,
            theme.TOKENS[view.kinds.index(kind)],
            width=None,
            name=names[kind],
            inside=[str(value) if value else "" for value in values],
            hover=[hover(("", names[kind]), f"{words['entropy']}: {heads}") for heads in view.heads[kind]],
        )
    bars.stacked(figure, 0.25)
    axes.across(figure, words["heads"], small=True, tickformat="d", nticks=6)
    axes.upward(figure, words["layer"], small=True, range=[view.n_layers - 0.5, -0.5], dtick=1)
    height = 110 + 30 * view.n_layers if view.n_layers <= 12 else 90 + 20 * view.n_layers
    return theme.finished(figure, height=height, legend="above")
