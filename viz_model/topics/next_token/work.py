"""Which tokens each step of drawing computes, with the cache and without."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import chart
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Cells, Mark, Panel, Scene, Text
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.kv_cache import Read
from viz_model.topics.next_token.cache import FRAME, reads
from viz_model.topics.next_token.drawn import steps

MOST_COLUMNS = 300
"""Columns of the staircases; of longer texts neighboring positions share one."""
STOPS = ((1.0, "key", 0.3), (2.0, "query", 0.85))
"""The colors of what lies in the cache, and of what is computed."""

SPARED: Verdict[tuple[int, int]] = Verdict(
    "next_token.spared", Claim("some", lambda positions: positions[0] < positions[1])
)
"""Of the positions that are computed with the cache and without."""


class WorkView(NamedTuple):
    """Steps of drawing ``n_drawn`` tokens: which tokens each computes, with the cache and without.

    ``cached`` and ``fresh`` are [R, N]: 0 where a token is not there, 1 where its key and value lie in the cache, 2
    where they are computed.
    """

    cached: np.ndarray
    fresh: np.ndarray
    n_prompt: int
    with_cache: int
    without_cache: int

    @classmethod
    def of(cls, made: Sequence[Read], n_prompt: int) -> "WorkView":
        shape = len(made), made[-1].stop
        cached, fresh = np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=np.int8)
        for at, read in enumerate(made):
            cached[at, read.first : read.start] = 1
            cached[at, read.start : read.stop] = 2
            fresh[at, read.first : read.stop] = 2
        counts = sum(read.computed for read in made), sum(read.without for read in made)
        return cls(cached, fresh, n_prompt, *counts)

    def facts(self) -> dict[str, str]:
        return {
            "n": str(len(self.cached)),
            "prompt": str(self.n_prompt),
            "with_cache": f"{self.with_cache:,}",
            "without_cache": f"{self.without_cache:,}",
            "saved": percent(1 - self.with_cache / self.without_cache),
        }


def view(look: Look) -> WorkView:
    """Of the tokens drawn so far; before the second, of those that the picture of the cache has places for."""
    n_drawn = len(steps(look))
    return WorkView.of(reads(look, n_drawn if n_drawn > 1 else FRAME), len(look.trace.at("decoder")))


def title(look: Look) -> Iterator[Line]:
    found = view(look)
    counts = found.with_cache, found.without_cache
    yield Line(SPARED.says(look.t.language, counts, **found.facts()), "part")


def tell(look: Look) -> Iterator[Line]:
    yield look.text("work" if len(steps(look)) > 1 else "work_to_come", **view(look).facts())


def draw(look: Look) -> Scene:
    """Two staircases, a row a step."""
    found, words = view(look), look.words
    n_rows, n_columns = found.cached.shape
    pool, tall = -(-n_columns // MOST_COLUMNS), min(320.0, max(120.0, 16.0 * n_rows))
    scale, counts = (
        chart.Axis(-0.5, n_columns - 0.5),
        {"with_cache": found.with_cache, "without_cache": found.without_cache},
    )
    panels = []
    for (name, count), cells in zip(counts.items(), (found.cached, found.fresh), strict=True):
        padded = np.pad(cells, ((0, 0), (0, -n_columns % pool))).reshape(n_rows, -1, pool).max(-1)
        left, top = 44.0, 26.0
        across = (1.0, -left - 10)
        axis: dict[str, Any] = {"rows": [str(n + 1) for n in range(n_rows)], "row_axis": words("step")}
        axis |= {"columns": [str(n * pool) for n in range(padded.shape[1])], "column_axis": words("position")}
        values = np.where(padded > 0, padded, np.nan).astype(np.float32)
        marks: list[Mark] = [
            Text(id="name", text=f"{words(name)}: {count:,}", y=12, x=left, bold=True),
            Cells(id="cells", x=left, y=top, width=across, height=tall, values=values, look="stops", stops=STOPS,
                name=words(name), empty=True, gap=1 if n_columns <= 80 else 0, walk=False, **axis),
            *(
                Text(id=f"row.{n}", text=str(n + 1), x=left - 8, y=top + (n + 0.5) * tall / n_rows, anchor="end",
                    fill="muted")
                for n in range(0, n_rows, -(-n_rows // 6))
            ),
            Text(id="step", text=words("step"), x=8, y=top + tall / 2, anchor="middle", rotate=-90),
            *chart.ticks_below(scale._replace(title=words("position")), left, across, top + tall),
        ]  # fmt: skip
        panels.append(Panel(id=name, marks=marks, height=top + tall + 2 * chart.LINE + 12, min=240))
    return look.drawn(Scene(id="kv_cache.work", panels=panels, title=words("work_alt"), own=False))
