"""Numbers of a run that a lesson asks for: a site, places in it, and what is taken of the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from viz_model.config import ModelConfig
from viz_model.model import sites
from viz_model.runs.trace import Trace

Where: TypeAlias = int | str | Mapping[str, "int | str"]
"""A place on an axis: a number, "first", "last", a token of the text, or one of these for each language."""

Take: TypeAlias = Literal["itself", "largest", "smallest", "sum", "mean", "length", "count", "positive"]
TAKES: tuple[Take, ...] = get_args(Take)

AXES = {
    "T": "token",
    "Tq": "query",
    "Tk": "key",
    "H": "head",
    "G": "head",
    "D": "dimension",
    "K": "dimension",
    "F": "neuron",
    "V": "entry",
}
"""What a lesson calls the axes of :mod:`viz_model.model.sites`; an axis of one number has no name."""
POSITIONS = ("token", "query", "key")

MOST_TOKENS = 64
"""Tokens of a sentence that a lesson can be asked of: every one of them may be an option."""


class CannotAsk(ValueError):
    """This run has not what a question asks for; the message is for the reader of the lesson, in English."""


class Run(NamedTuple):
    """What a question is asked of.

    Attributes:
        trace: the run, with the changes that the step makes to it.
        plain: the same without changes: "guess" is what this one expects.
        language: of the sentence.
    """

    trace: Trace
    plain: Trace
    language: str


class Numbers(NamedTuple):
    """Float64 numbers, with the names of the axes that are left."""

    values: np.ndarray
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """Numbers of a run.

    Attributes:
        site: a full name of :mod:`viz_model.model.sites`; ``last`` as a layer is the last one, ``*`` every layer.
        at: places on axes, by the axes' names.
        take: what is taken over all axes that are left and not asked for; "length" is the root of the sum of the
            squares, "positive" how many are above 0.
    """

    site: str
    at: Mapping[str, Where]
    take: Take = "itself"

    @property
    def is_of_layers(self) -> bool:
        return ".*." in self.site

    def names(self, config: ModelConfig) -> tuple[str, ...]:
        """The site's full name in a model; of every layer, where it asks for all.

        Raises:
            CannotAsk: it has no such site.
        """
        depth = _depth(self.site, config)
        named = self.site.replace("blocks.last.", f"blocks.{depth - 1}.")
        names = [named.replace(".*.", f".{layer}.") for layer in range(depth)] if self.is_of_layers else [named]
        try:
            for name in names:
                sites.find(name, config)
        except KeyError as missing:
            raise CannotAsk(str(missing.args[0])) from None
        return tuple(names)

    def left(self, config: ModelConfig) -> tuple[str, ...]:
        """The names of the axes at which no place is given.

        Raises:
            CannotAsk: the model has no such site, or the site no such axis or place.
        """
        first = self.names(config)[0]
        site = sites.find(first, config)
        sizes = dict(zip(site.axes, site.shape(1), strict=True))
        own = {AXES[axis]: size for axis, size in sizes.items() if axis in AXES}
        for name, where in self.at.items():
            if name not in own:
                raise CannotAsk(f"{first} has no axis {name!r}: it has {', '.join(own) or 'none'}")
            if name in POSITIONS:
                continue
            for place in where.values() if isinstance(where, Mapping) else (where,):
                if isinstance(place, str) and name != "entry":
                    raise CannotAsk(f"{name}: expected a number, got {place!r}")
                if isinstance(place, int) and not -own[name] <= place < own[name]:
                    raise CannotAsk(f"{name}: {first} has {own[name]}, counted from 0; got {place}")
        layers = ("layer",) if self.is_of_layers else ()
        return (*layers, *(name for name in own if name not in self.at))

    def numbers(self, run: Run, keep: tuple[str, ...] = ()) -> Numbers:
        """The numbers [one axis for each of ``keep``] of a run.

        Raises:
            CannotAsk: the run has no such site or place.
        """
        trace = run.trace.whole
        left = self.left(trace.config)
        if missing := [name for name in keep if name not in left]:
            raise CannotAsk(f"{self.site}: nothing is left of the axis {missing[0]!r}")
        found = [self._of(name, run) for name in self.names(trace.config)]
        values = np.stack(found) if self.is_of_layers else found[0]
        order = [left.index(name) for name in keep]
        rest = [axis for axis in range(len(left)) if axis not in order]
        values = np.transpose(values, order + rest).reshape(*(values.shape[axis] for axis in order), -1)
        return Numbers(_taken(values, self.take, self.site), keep)

    def _of(self, name: str, run: Run) -> np.ndarray:
        """A site with its places taken, an axis for each of :meth:`left` but the layers."""
        trace = run.trace.whole
        site = sites.find(name, trace.config)
        values = trace[name].double().numpy()
        index: list[int | slice] = []
        for axis, size in zip(site.axes, values.shape, strict=True):
            called = AXES.get(axis)
            if called is None:
                index.append(0)
            elif called in self.at:
                index.append(self._place(called, name, size, run))
            else:
                index.append(slice(None))
        return values[tuple(index)]

    def _place(self, axis: str, name: str, size: int, run: Run) -> int:
        where = self.at[axis]
        if isinstance(where, Mapping):
            where = where.get(run.language, next(iter(where.values())))
        if axis == "entry" and isinstance(where, str):
            return _entry(where, run)
        if isinstance(where, str):
            return _position(where, labels(run.trace, name, axis), axis)
        if not -size <= where < size:
            raise CannotAsk(f"{axis} {where}: this run has {size}, counted from 0")
        return where % size


def labels(trace: Trace, site: str, axis: str) -> tuple[str, ...]:
    """The tokens along an axis of positions of a site.

    Raises:
        CannotAsk: there are more than a lesson can ask about.
    """
    whole, side = trace.whole, sites.split_side(site)[0]
    seen = whole if side is None or len(whole.config.sides) == 1 else whole.at(side)
    if side is None and len(whole.config.sides) > 1:  # logits and probabilities
        seen = whole.at(whole.config.sides[-1])
    if axis == "key" and ".cross." in site:
        seen = whole.at("encoder")
    found = tuple(place.label for place in seen.positions)
    if len(found) > MOST_TOKENS:
        raise CannotAsk(f"the sentence has {len(found)} tokens: a lesson asks about at most {MOST_TOKENS}")
    return found


def word(label: str) -> str:
    """A token's label without the mark of the space before it."""
    return label.removeprefix("·")


def _depth(site: str, config: ModelConfig) -> int:
    side, _ = sites.split_side(site)
    return config.depth(side if side in config.sides else config.sides[-1])


def _position(where: str, tokens: tuple[str, ...], axis: str) -> int:
    """The position of "first", "last", or of a word; "ball#2" is the second "ball"."""
    match where:
        case "first":
            return 0
        case "last":
            return len(tokens) - 1
    text, _, nth = where.partition("#")
    found = [n for n, token in enumerate(tokens) if word(token) == text]
    wanted = int(nth) if nth.isdecimal() and nth.isascii() and len(nth) < 4 else 1
    if not 1 <= wanted <= len(found):
        raise CannotAsk(f"{axis}: this sentence has no token {where!r}; it has {' '.join(map(word, tokens))}")
    return found[wanted - 1]


def _entry(where: str, run: Run) -> int:
    """The entry of the vocabulary that the plain run expects after its last token, or that says a text."""
    if where == "guess":
        return int(run.plain.whole.row("probs", -1).argmax())
    ids = run.trace.tokenizer.encode(where, special=False)
    if len(ids) != 1:
        raise CannotAsk(f"entry: {where!r} is {len(ids)} tokens of this model, and not one")
    return int(ids[0])


def _taken(values: np.ndarray, take: Take, site: str) -> np.ndarray:
    """[…, N] -> […]."""
    if take == "itself" and values.shape[-1] != 1:
        raise CannotAsk(f"{site}: {values.shape[-1]} numbers are left; say which one, or what to take of them")
    made: dict[Take, Callable[[np.ndarray], np.ndarray]] = {
        "itself": lambda v: v[..., 0],
        "largest": lambda v: v.max(-1),
        "smallest": lambda v: v.min(-1),
        "sum": lambda v: v.sum(-1),
        "mean": lambda v: v.mean(-1),
        "length": lambda v: np.sqrt((v**2).sum(-1)),
        "count": lambda v: np.full(v.shape[:-1], float(v.shape[-1])),
        "positive": lambda v: (v > 0).sum(-1).astype(np.float64),
    }
    return made[take](values)
