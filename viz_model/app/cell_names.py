"""Numbers of a run in words: where one stands, which tokens its place stands for, and how large it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import viz_model as vm
from viz_model.config import ModelConfig
from viz_model.drawing.digits import power_of_ten
from viz_model.model import sites
from viz_model.runs.derivation import Cell
from viz_model.texts import Texts
from viz_model.texts.markdown import literal
from viz_model.values.declaration import Site
from viz_model.values.leaves import Index

_NAMED_AXES: Mapping[str, Callable[[ModelConfig], bool]] = {
    **dict.fromkeys(("T", "Tq", "Tk", "H", "G", "D", "K", "F", "V"), lambda config: True),
    **dict.fromkeys(("E", "N"), lambda config: config.has_experts),
    **dict.fromkeys(("P", "U"), lambda config: config.reads_pictures),
    "Y": lambda config: bool(config.classes),
}
"""Axes that the texts have words for, and which models have them; any other is called by its letter."""


def where(trace: vm.Trace, cell: Cell, t: Texts) -> str:
    """Where a number stands: layer, head, tokens, dimension."""
    site = sites.find(cell.site, trace.config)
    side, name = sites.split_side(cell.site)
    layer, _ = sites.split_name(name)
    said = [t(f"derivation.at_{side}")] if side else []
    said += [t("derivation.at_layer", n=layer)] if layer is not None else []
    keys = {"Tq": "from", "Tk": "to"} if {"Tq", "Tk"} <= set(site.axes) else {"Tq": "T", "Tk": "T"}
    for letter, n in zip(site.index, cell.index, strict=False):
        key = keys.get(letter.axis, named_axis(letter.axis, trace.config))
        token = literal(place(trace, letter, n))
        said.append(t(f"derivation.at_{key}", n=n, token=token, axis=letter.axis))
    return t("derivation.comma").join(said)


def named_axis(axis: str, config: ModelConfig) -> str:
    """An axis that texts have a word for; "other" is one of a part's own, whose letter may be that of another part."""
    return axis if axis in _NAMED_AXES and _NAMED_AXES[axis](config) else "other"


def place(trace: vm.Trace, index: Index, n: int) -> str:
    """The text that a number of an index stands for: a token of the sentence, or a word of the vocabulary."""
    if index.axis == "V":
        return trace.tokenizer.token(n).label
    return tokens(trace, index)[n].label if index.size is None else ""


def tokens(trace: vm.Trace, index: Index) -> tuple[vm.Token, ...]:
    """The tokens that an index counts."""
    side, _ = sites.split_side(index.stack)
    return trace.at(side or trace.config.sides[-1]).tokens


def shape(trace: vm.Trace, site: Site) -> tuple[int, ...]:
    """The sizes of a site in this run, without making it."""
    return site.length(trace.whole.reader.length)


def name_of(cell: Cell) -> str:
    """A number by its name and index, literally."""
    return literal(str(cell))


def written(value: float, digits: int = 4) -> str:
    """A number for prose: 0.1234, −∞, 2·10⁻⁷."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "−∞" if value < 0 else "∞"
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    power = f"·{power_of_ten(int(exponent))}" if exponent else ""
    return mantissa.replace("-", "−") + power
