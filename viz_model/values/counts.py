"""What a model takes, read off its declarations: numbers that are learned, and multiplications of a run.

Nothing is allocated: a declaration knows the length of every axis, however large the model would be.
"""

import math
from collections.abc import Callable, Iterable

from viz_model.values.declaration import Site
from viz_model.values.leaves import Entry, Index, Weight


def weights(sites: Iterable[Site]) -> dict[str, tuple[Weight, Site]]:
    """The weights that values are made with, by name, each with the first value that reads it.

    A table that is read in two places (tied embeddings) has one name, and is there once.
    """
    found: dict[str, tuple[Weight, Site]] = {}
    for site in sites:
        for weight in site.weights:
            found.setdefault(weight.name, (weight, site))
    return found


def entries(weight: Weight) -> int:
    """How many numbers a weight holds."""
    return math.prod(weight.shape)


def used(weight: Weight, site: Site) -> int:
    """How many of a weight's numbers one token meets in a value: of experts those of the chosen ones."""
    read = next(part for part in site.expression.walk() if isinstance(part, Entry) and part.weight == weight)
    found = entries(weight)
    for index in read.index:
        if isinstance(index, Index) and index.busy is not None and index.size:
            found = found * index.busy // index.size
    return found


def lengths(positions: Callable[[str], int]) -> Callable[[Index], int]:
    """How far an index counts, given the number of positions of each stack by its prefix."""
    return lambda index: index.length(positions)


def multiplications(site: Site, length: Callable[[Index], int]) -> int:
    """Multiplications of a value's matrix products, each with its addition, in all of its cells."""
    return math.prod(map(length, site.index)) * site.expression.products(length)
