"""What decides between the two places of the norm: how training ends, and the whole stream with its norms."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Mark, Panel, Rect, Scene, Text
from viz_model.drawing.tables import Lengths
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.stream import stream_lengths
from viz_model.topics.norm_placement.places import COLORS, NAMES, runs
from viz_model.topics.norm_placement.warmup import WARMUP, Warmup, WarmupView
from viz_model.training import experiments

STEP, TOP, THICK, MOST_BLOCKS = 26.0, 34.0, 44.0, 6
"""Pixels of a sub-layer, above the first, of the longest stream; blocks that are drawn, the last of deeper models."""


def trained(look: Look) -> WarmupView:
    """The small models that were trained with warm-up and without, at one peak rate."""
    return look.once(lambda _: WarmupView.of(experiments.recorded(), experiments.RATE), "trained")


outcome_title = say.title("outcome_title", lambda look: trained(look).facts())


def outcome(look: Look) -> Scene:
    """The loss at which training ends, a bar a run; beside them that of mere frequencies."""
    found, words = trained(look), look.words
    names = [f"{NAMES[at]}, {words('with_warmup' if on else 'without_warmup')}" for at, on in found.runs]
    losses = np.array([run.final_loss for run in found.runs.values()])
    hues = [COLORS[at] for at, _ in found.runs]
    bars = [chart.Bars("", losses, "output", "{{name}}: {{value}}", "2", fill=hues)]
    scale = chart.axis(losses, np.array([found.record.frequency_loss]), title=words("loss"))
    scene = chart.bars("norm_placement.outcome", words("outcome_alt"), names, bars, scale, row=34)
    return look.drawn(scene, own=False)


def outcome_tell(look: Look) -> Iterator[Line]:
    found = trained(look)
    yield look.text("outcome", **found.facts())
    for at, name in NAMES.items():
        ends = Warmup(*found.losses(at))
        said = WARMUP.says(look.t.language, ends, without=f"{ends.bare:.2f}", **{"with": f"{ends.warm:.2f}"})
        yield Line(f"**{name}** {said}")


def lengths(look: Look) -> dict[str, np.ndarray]:
    """By place of the norm the length of each token's stream before the blocks and after each addition: [S, T]."""
    return look.once(lambda look: {at: stream_lengths(run) for at, run in runs(look).items()}, "lengths of both")


lines_title = say.part("lines_title", say.token)


def lines(look: Look) -> Scene:
    """Both streams from above to below, as thick as they are long, on one scale, with their norms."""
    found, words = lengths(look), look.words
    longest = float(max(values.max() for values in found.values()))
    first = max(0, look.n_layers - MOST_BLOCKS)
    marks: list[Mark] = []
    for column, (at, values) in enumerate(found.items()):
        middle = 0.42 + 0.38 * column
        marks.append(Text(id=at, text=NAMES[at], x=(middle, 0), y=12, anchor="middle", bold=True, fill=COLORS[at]))
        for row, n in enumerate(range(2 * first, len(values))):
            y = TOP + row * STEP
            wide: Any = look.by("token", (THICK * values[n] / longest).astype(np.float32))
            left: Any = Lengths(wide, 0, 1, (middle, 0.0), (middle, -0.5))
            marks.append(Rect(id=f"{at}.{n}", x=left, y=y, width=wide, height=STEP - 5, fill=COLORS[at], opacity=0.75))
            said: Any = look.by("token", values[n], "1")
            marks.append(Text(id=f"{at}.{n}.length", text=said, x=(middle, THICK / 2 + 8), y=y + STEP / 2 - 2))
            if n:  # before what a sub-layer reads it stands beside the line, after the addition across it
                aside = {"x": (middle, -THICK / 2 - 16), "width": 12, "y": y - 4, "height": 8}
                across = {"x": (middle, -THICK / 2 - 4), "width": THICK + 8, "y": y + STEP - 7, "height": 4}
                place: dict[str, Any] = aside if at == "pre" else across
                marks.append(Rect(id=f"{at}.{n}.norm", fill="norm", label=words("station_norm"), **place))
            if not column:
                part = words("lines_start") if n == 0 else words(f"station_{'ffn' if n % 2 == 0 else 'attn'}")
                name = part if n == 0 else f"{(n - 1) // 2} · {part}"
                marks.append(Text(id=f"row.{n}", text=name, x=0, y=y + STEP / 2 - 2, fill="muted"))
    rows = len(next(iter(found.values()))) - 2 * first
    panel = Panel(id="lines", marks=marks, height=TOP + rows * STEP + 2, min=280)
    keys = [chart.bar_key(words("station_norm"), "norm")]
    scene = Scene(id="norm_placement.lines", panels=[panel], title=words("lines_alt"), keys=keys)
    return look.drawn(scene, ["embed.out", "resid.mid", "resid.out"])


def lines_tell(look: Look) -> Iterator[Line]:
    found = lengths(look)
    ends = {
        f"{end}_{at}": look.by("token", found[at][n], "1") for at in found for end, n in (("first", 0), ("last", -1))
    }
    yield look.text("lines", token=look.token_named(), **ends)
