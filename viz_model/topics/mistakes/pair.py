"""The pair that is looked at: the run on which it is computed, and what both functions make of it."""

import re
import zlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch

from viz_model.drawing import heatmap
from viz_model.drawing.tables import Phrase, by
from viz_model.island.look import Look
from viz_model.island.page import Typed
from viz_model.runs.trace import Trace
from viz_model.topics.mistakes import forward
from viz_model.topics.mistakes.bugs import BUGS
from viz_model.topics.mistakes.forward import Bug, Effect, View

STAND_INS = ("story-pre-ln", "story-bert", "story-modern")
"""Decoders and an encoder that between them have what every bug needs."""
MOST_TOKENS, MOST_COLUMNS, LARGEST = 300, 48, 88
"""Tokens of a text on which a bug is shown, because the whole model runs again with it; dimensions that are shown; and
positions along a side of a picture: of longer texts several share a cell.
"""
LETTERS = ("A", "B")
_ONE = rf"({'|'.join(BUGS)})\.[AB]"
FORMER = {"normalise": "normalize"}
"""Names that bugs had in addresses before."""
OPTIONS = (("bug", (*BUGS, *FORMER)), ("answers", Typed("", 500, rf"({_ONE}(~{_ONE})*)?")))
"""The pair, and the visitor's first answer to each, by its name."""

Where: TypeAlias = Literal["own", "other_side", "stand_in"]


def wrong_letter(name: str) -> str:
    """The letter of the wrong one: the same on every visit, and in no order that one could guess."""
    return LETTERS[zlib.crc32(name.encode()) % 2 == 0]


def answers(look: Look) -> dict[str, str]:
    """The letter that was chosen first, by the name of the pair."""
    found: dict[str, str] = {}
    for name, letter in re.findall(r"(\w+)\.([AB])", look.options.get("answers") or ""):
        found.setdefault(name, letter)
    return found


def written(given: dict[str, str]) -> str:
    """Answers as they stand in the address."""
    return "~".join(f"{name}.{letter}" for name, letter in given.items())


class Pair(NamedTuple):
    """A pair, and where it is computed.

    Attributes:
        view: None where no model fits.
        where: whether that is the page's own run, its other stack, or the run of a model that stands in.
        lack: what the page's own run lacks.
        is_of_layer: whether layers of that run differ in it, so that what is shown is of the selected one alone.
    """

    bug: Bug
    view: View | None
    where: Where
    lack: str | None
    is_of_layer: bool = False

    @property
    def wrong(self) -> str:
        return wrong_letter(self.bug.name)

    def ordered(self, right: Any, wrong: Any) -> dict[str, Any]:
        """What stands under A and under B."""
        return dict(zip(LETTERS, (right, wrong) if self.wrong == "B" else (wrong, right), strict=True))


def pair(look: Look) -> Pair:
    name = look.options.get("bug") or next(iter(BUGS))
    name = FORMER.get(name, name)
    return look.once(lambda look: _pair(look, BUGS[name]), ("pair", name, look.layer, look.token))


def answer(look: Look) -> str | None:
    """The letter that the visitor has chosen for the pair."""
    return answers(look).get(pair(look).bug.name)


def _pair(look: Look, bug: Bug) -> Pair:
    lacks = [_lacks(bug, look.trace, layer) for layer in look.layers]
    if is_of_layer := len(set(lacks)) > 1:
        look, lacks = look.narrow, [lacks[look.layer - look.layers.start]]
    if lacks[0] is None:
        return Pair(bug, View(look, {}), "own", None, is_of_layer)
    for where, there in _others(look):
        trace = there.trace
        if not any(_lacks(bug, trace, layer) for layer in range(trace.n_layers)):
            sizes = {"layer": (look.n_layers, trace.n_layers), "head": (look.n_heads, there.n_heads)}
            fixed: dict[str, Any] = {
                axis: by(axis, np.minimum(np.arange(own), other - 1)) for axis, (own, other) in sizes.items()
            }
            return Pair(bug, View(there, {**fixed, "token": len(trace) - 1}), where, lacks[0], is_of_layer)
    return Pair(bug, None, "own", lacks[0], is_of_layer)


def _lacks(bug: Bug, trace: Trace, layer: int) -> str | None:
    return "room" if len(trace) > MOST_TOKENS else bug.lacks(trace, layer)


def _others(look: Look) -> Iterator[tuple[Where, Look]]:
    """Where else a bug may be computed: in the other stack, here on an example, or in a bundled model."""

    def at(trace: Trace | None, *key: str) -> Look | None:
        if trace is None:
            return None
        there = look.once(lambda look: Look.at(trace, look.t, look.topic), ("there", *key))
        layer = min(look.layer, there.n_layers - 1)
        return there if layer in there.layers else look.once(lambda look: there.of_layer(layer), ("there", layer, *key))

    for side in look.config.sides:
        if side != look.trace.stack.side and (there := at(look.trace.at(side), side)):
            yield "other_side", there
    texts = [] if look.config.kind == "encoder_decoder" else [("", "")]  # that would need a target too
    for model, text in (*texts, *((name, text) for name in STAND_INS for text in (look.trace.text or "", ""))):
        if there := at(look.others(model, text), model, text):
            yield "stand_in", there


class Matrix(NamedTuple):
    """Numbers by ``axes``, and then [R, C].

    Attributes:
        rows, columns: the names of what rows and columns are.
        n_columns: of which the columns are the first.
        is_pattern: whether rows are attention weights.
    """

    axes: str
    values: np.ndarray
    rows: str
    columns: str
    n_columns: int
    is_pattern: bool = False


class Outcome(NamedTuple):
    """What both functions made of the same numbers, in every layer that is held.

    Attributes:
        right, wrong: matrices, or what both returned.
        made: what both made, of a block's value in every layer.
        gap: max |right − run| by layer, NaN where the run has nothing of the kind.
    """

    right: Any
    wrong: Any
    made: tuple[Any, Any]
    gap: np.ndarray
    effect: Effect | None

    @property
    def relative(self) -> np.ndarray:
        """‖right − wrong‖ / ‖right‖ over the finite cells, by the axes of both."""
        finite = np.isfinite(self.wrong.values)
        apart = np.where(finite, self.wrong.values - self.right.values, 0)
        length = np.sqrt((np.where(finite, self.right.values, 0) ** 2).sum((-2, -1)))
        found: np.ndarray = np.sqrt((apart**2).sum((-2, -1))) / np.where(length > 0, length, np.nan)
        return found

    @property
    def apart(self) -> np.ndarray:
        """|right − wrong|, −1 where the wrong one is no number."""
        found: np.ndarray = np.nan_to_num(np.abs(self.wrong.values - self.right.values), nan=-1.0)
        return found


def outcome(view: View, bug: Bug) -> Outcome:
    """Both functions on the same numbers, and the model with the wrong one in it."""
    return view.there.once(lambda there: _outcome(there, bug), ("outcome", bug.name))


def _outcome(there: Look, bug: Bug) -> Outcome:
    run, layers = there.trace, there.layers if bug.is_of_block else range(1)
    right, wrong = ([bug.made(run, layer, one) for layer in layers] for one in bug.functions(run))
    gap = np.array([bug.gap(run, layer, made) for layer, made in zip(layers, right, strict=True)], np.float32)
    effect = forward.effect(bug, run)
    if bug.shown != "matrix":
        return Outcome(right[0], wrong[0], (right[0], wrong[0]), gap, effect)
    first, second = (torch.stack(one).numpy() if bug.is_of_block else one[0].numpy() for one in (right, wrong))
    return Outcome(_matrix(there, bug, first), _matrix(there, bug, second), (first, second), gap, effect)


def facts(view: View, bug: Bug) -> dict[str, Any]:
    """What fills the words on the pair: numbers of what both made, and names."""
    return {
        "length": len(view.run),
        **bug.facts(view, *outcome(view, bug).made),
        "site": site(view, bug),
        **view.numbers,
        "wrong": wrong_letter(bug.name),
    }


def _matrix(there: Look, bug: Bug, values: np.ndarray) -> Matrix:
    last = there.trace.site(bug.site.format(layer=0)).axes[-1]
    return _cut(there, values, "key" if last == "Tk" else "dimension", is_pattern=last == "Tk")


def given(view: View, bug: Bug) -> Matrix | None:
    """What both functions are given first, where it can be drawn."""
    return view.there.once(lambda there: _given(there, bug), ("given", bug.name)) if bug.reads else None


@torch.inference_mode()
def _given(there: Look, bug: Bug) -> Matrix:
    values = torch.stack([bug.given(bug.here(there.trace, layer))[bug.reads] for layer in there.layers])
    return _cut(there, values.numpy(), "key" if bug.reads in ("scores", "masked", "pattern") else "dimension")


def _cut(there: Look, values: np.ndarray, columns: str, *, is_pattern: bool = False) -> Matrix:
    """The rows of the text's own tokens; all keys, the first dimensions."""
    axes, width = ("layer", "head")[: values.ndim - 2], values.shape[-1]
    shown = values[..., : len(there), : width if columns == "key" else MOST_COLUMNS].astype(np.float32)
    return Matrix(" ".join(axes), shown, "query" if len(axes) == 2 else "token", columns, width, is_pattern)


def pooled(matrix: Matrix) -> tuple[np.ndarray, heatmap.Pool]:
    """The values with as many positions a cell as there must be: of each group that of largest magnitude."""
    rows, columns = matrix.values.shape[-2:]
    pool = heatmap.Pool(-(-rows // LARGEST), -(-columns // LARGEST))
    return (matrix.values, pool) if pool == heatmap.Pool() else (heatmap.pooled(matrix.values, pool), pool)


def site(view: View, bug: Bug) -> Any:
    """The name of the value that the right one makes, as code."""
    name = view.run.full_name(bug.site.format(layer=0)).replace("blocks.0.", "blocks.{{at_layer}}.")
    if not bug.is_of_block:
        return f"`{name}`"
    return Phrase(f"`{name}`", {"at_layer": view.numbers["layer"]})
