"""Of a model that reads pictures: what each patch, and each head, is worth for a class."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Patches
from viz_model.drawing import theme
from viz_model.drawing.digits import written
from viz_model.drawing.picture import Painted, Tile, enlarged, tiles
from viz_model.drawing.scene import Pick, Scene
from viz_model.drawing.scene.writing import short
from viz_model.drawing.tables import By, by
from viz_model.images import Levels
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Quiz
from viz_model.island.prose import Line
from viz_model.island.quiz import largest, spread
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.measures import patches
from viz_model.measures.classes import Classes, classes
from viz_model.runs.edits import AblateHead
from viz_model.runs.record import record
from viz_model.runs.trace import Trace
from viz_model.topics.attribution import grid
from viz_model.topics.attribution.asked import of_class

MOST_POSITIONS = 5000
"""Positions that are run again at the most: runs times positions, for the patches and for the heads."""
LARGE, SMALL, MOST_WIDE = 250.0, 78.0, 620
"""Pixels of the picture of the class that is asked about, of those of all classes, and of heads across."""
MOST = 12
"""Classes that are shown small."""


class Worth(NamedTuple):
    """What the logits lose without each patch: float32 [N, Y], those of the run less those without it.

    Where there are too many patches for a run each, ``side`` × ``side`` neighbors go together, and have one number.
    """

    lost: np.ndarray
    side: int = 1
    n_runs: int = 0


def side_of(patches: Patches) -> int:
    """How many patches a side go together, so that no more than :data:`MOST_POSITIONS` are run."""
    side = 1
    while (
        -(-patches.rows // side) * -(-patches.columns // side) * (patches.n_patches + 1) > MOST_POSITIONS
        and side < patches.rows
    ):
        side += 1
    return side


def blanked(picture: Levels, patches: Patches, row: int, column: int, side: int = 1) -> Levels:
    """A picture [H, W, C] with ``side`` × ``side`` patches blank: at the level of its edge."""
    patch, found = patches.patch, picture.copy()
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    found[row * patch : (row + side) * patch, column * patch : (column + side) * patch] = np.median(edge, axis=0)
    return found


def _logits(trace: Trace, picture: Levels, *more: AblateHead) -> np.ndarray:
    """Of another picture, or without a head."""
    ids = range(trace.config.n_ids)
    run = record(trace.model, trace.tokenizer, ids, picture=picture, edits=(*trace.edits, *more))
    return run["class.logits"].numpy()


def worth(look: Look) -> Worth:
    trace, cut = look.trace, look.config.patches
    assert trace.picture is not None
    picture, side = trace.picture.numpy(), side_of(cut)
    logits = trace["class.logits"].numpy()
    lost = np.zeros((cut.rows, cut.columns, len(logits)), np.float32)
    starts = [(row, column) for row in range(0, cut.rows, side) for column in range(0, cut.columns, side)]
    for row, column in starts:
        without = _logits(trace, blanked(picture, cut, row, column, side))
        lost[row : row + side, column : column + side] = logits - without
    return Worth(lost.reshape(cut.n_patches, -1), side, len(starts))


def layers_of(look: Look) -> tuple[int, ...]:
    """The layers whose heads are switched off: all, or the selected one where that would be too many runs."""
    is_few = look.n_layers * look.n_heads * len(look) <= MOST_POSITIONS
    return tuple(range(look.n_layers)) if is_few else (look.layer,)


def without_heads(trace: Trace, layers: Sequence[int]) -> np.ndarray:
    """What the logits lose where a head of ``layers`` is off: float32 [L, H, Y]."""
    assert trace.picture is not None
    logits, picture, heads = trace["class.logits"].numpy(), trace.picture.numpy(), range(trace.config.n_heads)
    return np.array(
        [[logits - _logits(trace, picture, AblateHead(layer=layer, head=head)) for head in heads] for layer in layers]
    )


def chosen(look: Look) -> int:
    return of_class(look).target


def _classes(look: Look) -> Classes:
    return classes(look.trace)


def _lost(look: Look) -> np.ndarray:
    """Of the class that is asked about: [N]."""
    return look.once(worth).lost[:, chosen(look)]


def facts(look: Look) -> dict[str, Any]:
    found, view, lost = look.once(worth), look.once(_classes), _lost(look)
    most, least = int(lost.argmax()), int(lost.argmin())
    return {
        "class": view.names[chosen(look)],
        "logit": written(view.logits[chosen(look)], "+2"),
        "most": look.names[1 + most],
        "most_lost": written(lost[most], "+2"),
        "least": look.names[1 + least],
        "least_lost": written(lost[least], "+2"),
        "n": len(lost),
        "n_runs": found.n_runs,
        "side": found.side,
    }


def choose(look: Look) -> Chooser:
    """All classes in their own order, or of many the most probable ones and the one that is asked about."""
    view, own = look.once(_classes), chosen(look)
    options = {str(n): view.labels[n] for n in sorted({*view.order[:MOST], own})}
    return Chooser("class", options, look.words("class"), look.words("class_help"), str(own), asks=True)


def draw(look: Look) -> Scene:
    """The class that is asked about enlarged, then all classes small, on one color scale; a click asks about one."""
    found, view, own = look.once(worth).lost, look.once(_classes), chosen(look)
    every = np.concatenate([np.full((1, found.shape[1]), np.nan, np.float32), found]).T  # [CLS] is no patch
    top, cut, said = float(np.nanmax(np.abs(every))) or 1.0, patches.grid(look.config), str(look.words("for_class"))
    whole = Painted(patches.pixels(look.trace), every[own], cut, look.names, chosen="token")
    large = enlarged(whole, LARGE, top, said.replace("#", view.labels[own]), look="signed")
    count = len(view.labels)
    shown = range(count) if count <= MOST else np.argsort(-np.nanmax(np.abs(every), 1))[:MOST].tolist()
    each = [
        Tile(f"class.{n}", short(name, 10), every[n], top, Pick(n), said.replace("#", name), n == own)
        for n, name in ((n, view.labels[n]) for n in shown)
    ]
    small = tiles(whole, each, "classes", SMALL, 3, look="signed", beside=False)
    return Scene(
        id="attribution.patches", panels=[large, small], title=look.words("patches_alt", **facts(look)), option="class"
    )


def tell(look: Look) -> Iterator[Line]:
    yield look.text("see_patches" if look.once(worth).side == 1 else "see_squares", **facts(look))


# Heads


def _heads(look: Look) -> np.ndarray:
    """What the class that is asked about loses without each head: [L, H]."""
    layers = layers_of(look)
    return look.once(lambda look: without_heads(look.trace, layers), ("heads", layers))[:, :, chosen(look)]


def draw_heads(look: Look) -> Scene:
    """A row a layer, a column a head; a click selects one."""
    lost, layers = _heads(look), layers_of(look)
    axes, heads = (look.common("axis_layer"), look.common("axis_head")), range(look.n_heads)
    names = [str(head) for head in heads], [f"{axes[1]} {head}" for head in heads]
    picks = [{"layer": layer, "head": head} for layer in layers for head in heads]
    scene = grid.cells(
        "attribution.heads", look.words("heads_alt", **facts(look)), lost, layers, names, axes, picks, write="2"
    )
    panel, first = scene.panels[0], layers[0]
    rows = By(("layer",), np.arange(len(layers)), start={"layer": first})
    frame = grid.framed(by("head", np.arange(look.n_heads)), look.n_heads, rows, grid.height(len(layers)))
    scene = replace(scene, panels=[replace(panel, marks=[*panel.marks, frame], most=MOST_WIDE)])
    return scene if len(layers) == look.n_layers else look.only_here(scene)


def tell_heads(look: Look) -> Iterator[Line]:
    lost, layers = _heads(look), layers_of(look)
    row, head = np.unravel_index(int(lost.argmax()), lost.shape)
    said = {**facts(look), "layer": layers[row], "head": head, "lost": written(lost.max(), "+2")}
    yield look.text("see_heads" if len(layers) == look.n_layers else "see_heads_layer", **said)


# The tabs, and the question


def _begin(look: Look) -> Any:
    """The logit worked out, and what remains of it without the patch that is worth most."""
    lost, logit = float(_lost(look).max()), float(look.once(_classes).logits[chosen(look)])
    key = "hand_without" if look.once(worth).side == 1 else "hand_without_square"
    exact = {"logit_exact": logit, "without": logit - lost, "lost": lost}
    numbers = {name: f"{value:.4f}" for name, value in exact.items()} | {"taken": theme.signed(logit - lost)}
    said = look.text(key, **numbers, **facts(look))
    return said, [Worked(("attribution.hand_class",), "class.logits", (chosen(look),))], facts(look)


def _numbers(look: Look) -> Table:
    return "lost", look.once(worth).lost, look.names[1:], look.once(_classes).labels


APART = Tabs(
    lambda look: ["class.logits"],
    _begin,
    lambda look: ["class.logits"],
    _numbers,
    say.text("formula_without"),
)


def quiz(look: Look) -> Quiz | None:
    """Which of some patches is worth most."""
    lost = _lost(look)
    shown = sorted({*spread(len(lost), 4), int(lost.argmax())})
    names = [look.names[1 + n] for n in shown]
    return largest(look, "", lost[shown], names, "+2", "guess_patch", **{"class": facts(look)["class"]})
