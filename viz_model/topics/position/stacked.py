"""Waves one above the other, from the fastest to the slowest, over the places of this sentence."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.cells import ROW, Cells
from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Text, along
from viz_model.drawing.tables import Each, Lengths, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.position import added, waves

ROWS, ROW_HEIGHT, LEFT, RIGHT = 8, 30.0, 132.0, 8.0
"""Waves, pixels of one, and those at the sides; on the left stands what each is called."""


class Stacked(NamedTuple):
    """The sines of some pairs [N] of dimensions: ``turns`` are the positions of one turn [N], ``recorded`` what the run
    added at each token [T, N].
    """

    pairs: tuple[int, ...]
    turns: np.ndarray
    recorded: np.ndarray


def view(look: Look) -> Stacked:
    last = look.config.d_embedding // 2 - 1
    pairs = tuple(np.unique(np.linspace(0, last, ROWS).round().astype(int)).tolist())
    interleaved = waves.scheme(look.config).layout == "interleaved"
    columns = [waves.pair_columns(pair, last + 1, interleaved=interleaved)[0] for pair in pairs]
    turns = np.array([waves.wavelength(look.config, pair) for pair in pairs])
    return Stacked(pairs, turns, look.once(added.added)[:, columns])


def title(look: Look) -> Iterator[Line]:
    found = look.once(view)
    fast, slow = (f"{turn:,.1f}" if turn < 100 else f"{turn:,.0f}" for turn in (found.turns[0], found.turns[-1]))
    yield look.title("stacked_title", fast=fast, slow=slow)


def draw(look: Look) -> Scene:
    """A row a wave; dots where tokens read it, a line through all at the selected token."""
    found, words, model, n = look.once(view), look.words, look.config, len(look)
    span = max(n, waves.SHORTEST_AXIS) - 1
    at = np.linspace(0, span, span * waves.POINTS + 1)
    drawn = added.waves(at, model.d_embedding, waves.scheme(model).base)
    tokens = np.arange(n)
    interleaved = waves.scheme(model).layout == "interleaved"
    marks: list[Mark] = []

    def across(places: np.ndarray) -> Any:
        return along(places / span, LEFT, (1, -LEFT - RIGHT))

    for row, pair in enumerate(found.pairs):
        middle, tall = (row + 0.5) * ROW_HEIGHT + 2, 0.42 * ROW_HEIGHT
        turn = f"{found.turns[row]:,.1f}" if found.turns[row] < 100 else f"{found.turns[row]:,.0f}"
        y = (middle - tall * drawn[:, 2 * pair]).astype(np.float32)
        dots = (middle - tall * found.recorded[:, row]).astype(np.float32)
        column = waves.pair_columns(pair, model.d_embedding // 2, interleaved=interleaved)[0]
        told = Each("{{label}}\n{{value}}", {"label": look.labels, "value": by("", found.recorded[:, row], "4")})
        marks += [
            Rect(id=f"zero.{row}", x=LEFT, y=middle, width=(1, -LEFT - RIGHT), height=1, fill="grid"),
            Text(id=f"name.{row}", text=words("stacked_row", pair=pair, turn=turn), x=0, y=middle, fill="muted"),
            Path(id=f"wave.{row}", x=across(at), y=y, stroke="position", thick=1.8),
            Items(
                id=f"dots.{row}", x=across(tokens), y=dots, symbol="circle", size=6 if n <= 64 else 3,
                fill=[theme.token(k) for k in range(n)], labels=told,  # type: ignore[arg-type]
                where=Cells(look.trace.full_name("embed.position"), (ROW, column)),
            ),
        ]  # fmt: skip
    height = len(found.pairs) * ROW_HEIGHT + 4
    chosen = Lengths(by("token", tokens), 0, span, (0.0, LEFT), (1.0, -RIGHT))
    marks.append(Rect(id="chosen", x=chosen, y=0, width=2, height=height, fill="accent"))  # type: ignore[arg-type]
    panel = Panel(id="stacked", marks=marks, height=height, min=460)
    return look.drawn(Scene(id="position.stacked", panels=[panel], title=words("stacked_alt")), ["embed.position"])


tell = say.text("stacked", say.token)
