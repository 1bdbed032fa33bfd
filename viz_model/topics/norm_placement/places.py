"""How the two places of the norm are told apart: by color, marker and dash alike, so that no one of them is needed.

Every view is of a mapping by place of the norm: of twins {"pre": …, "post": …}, in this order; of a
model without a twin it has that model alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Table
from viz_model.island.look import Look
from viz_model.island.page import Item
from viz_model.island.prose import Line
from viz_model.measures.passage import norm_name
from viz_model.runs.trace import Trace

NAMES: dict[str, str] = {"pre": "Pre-LN", "post": "Post-LN"}
COLORS: dict[str, str] = {"pre": "#4F7BEA", "post": "#D6246E"}
SYMBOLS: dict[str, str] = {"pre": "circle", "post": "square"}
HEIGHT = 330


def ratio(number: float) -> str:
    """A factor with about two digits that count and no exponent: 0.69, 1.0, 4.3, 120."""
    digits = 0 if number >= 10 else 1 if number >= 1 else 2 if number >= 0.1 else 6
    return f"{number:,.{digits}f}"


def runs(look: Look) -> dict[str, Trace]:
    """The runs by the place of their norm, Pre-LN first; of a model without a twin that run alone."""
    found = {run.norm_at: run for run in (look.trace, look.twin) if run is not None}
    return {place: found[place] for place in NAMES if place in found}


def is_alone(look: Look) -> bool:
    """Whether there is no twin."""
    return len(runs(look)) < 2


def facts(look: Look) -> dict[str, Any]:
    """What the texts of all sections may name."""
    place = NAMES[look.trace.norm_at]
    given = {"token": look.token_named(), "layer": look.layer_number, "place": place}
    return {**given, "norm": norm_name(look.trace)}


def listed(look: Look, each: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Facts by place of the norm -> each with the names of the places: for a headline."""
    names = list(next(iter(each.values()), {}))
    return {
        name: " · ".join(own[name] if is_alone(look) else f"{NAMES[at]} {own[name]}" for at, own in each.items())
        for name in names
    }


class Finding(NamedTuple):
    """What is said of a picture.

    Attributes:
        name: of its texts: ``name_title``, ``name`` and, for each place of the norm, ``name_each``.
        each: facts by place, for the headline and those lines.
        facts: others.
        lines: claims that are made.
        sites: the values that are shown.
    """

    name: str
    each: Mapping[str, Mapping[str, str]] = {}
    facts: Mapping[str, Any] = {}
    lines: Iterable[str] = ()
    sites: Sequence[str] = ()


def finding(made: Callable[[Look], Finding], draw: Callable[[Look], Scene]) -> tuple[Item, Item, Item]:
    """A picture under what it shows: its headline, what is general, and a line for each place of the norm."""

    def values(look: Look, found: Finding) -> dict[str, Any]:
        return {**facts(look), **listed(look, found.each), **found.facts}

    def title(look: Look) -> Iterator[Line]:
        found = made(look)
        yield look.part(f"{found.name}_title", **values(look, found))

    def tell(look: Look) -> Iterator[Line]:
        found = made(look)
        given, told = values(look, found), list(found.lines)
        yield look.text(found.name, **given)
        if look.knows(f"{found.name}_each"):
            plain = {name: value for name, value in given.items() if not isinstance(value, Table)}
            key = f"{look.topic}.{found.name}_each"
            told = [look.t.prose(key, **{**plain, **own, "place": NAMES[at]}) for at, own in found.each.items()] + told
        if told:
            yield Line("\n".join(f"- {line}" for line in told))
        yield look.source(*(name for name in found.sites if look.has(name)))

    return title, draw, tell
