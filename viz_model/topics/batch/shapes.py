"""The batch through the model, as stacks of sheets, one a sentence; and each row beside the sentence alone."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import small
from viz_model.drawing.scene import Mark, Panel, Path, Rect, Scene, Text
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.batch.rows import batched, sizes

SAME = 1e-5
"""Of the largest number of the output: what single precision loses in a few hundred additions."""
GAP, SHIFT, TOP, TALL, BACK = 1.15, 0.14, 30.0, 104.0, 11.0
"""How far stages stand apart, and each sheet behind the one before it, against the width of sheets; pixels above all,
of a sheet, and how much higher each stands.
"""


class Gap(NamedTuple):
    """Between the output of the rows in the batch and alone.

    ``gap`` is the largest difference, ``largest`` the largest number of the output, ``n_padding`` how many
    positions are padding.
    """

    gap: float
    largest: float
    n_padding: int

    @property
    def is_same(self) -> bool:
        return self.gap <= SAME * max(1.0, self.largest)


ALONE: Verdict[Gap] = Verdict("batch.alone", Claim("same", lambda gap: gap.is_same))
OPEN: Verdict[Gap] = Verdict(
    "batch.open", Claim("full", lambda gap: gap.n_padding == 0), Claim("same", lambda gap: gap.is_same)
)


class Stage(NamedTuple):
    """One form of the batch: what it is, its shape, how wide a sheet is, its color, and what leads to it."""

    name: str
    shape: str
    width: float
    role: str
    step: str = ""


def stages(look: Look) -> list[Stage]:
    run, config, words = batched(look).run, look.config, look.words
    depth = sum(config.depth(side) for side in config.sides)
    rows, last = (sizes("BTD", (*shape[:2], config.d_model)) for shape in (run.ids.shape, run.shape))
    found = [
        Stage(words("stage_ids"), sizes("BT", run.ids.shape), 0.18, "token"),
        Stage(words("stage_rows"), rows, 0.8, "residual", words("step_look_up")),
        Stage(words("stage_vectors"), last, 0.8, "residual", words("step_blocks", n=depth)),
    ]
    if config.has_logits:
        found.append(Stage("logits", sizes("BTV", run.shape), 1.5, "output", words("step_logits")))
    return found


def draw(look: Look) -> Scene:
    """The stages from left to right, each a sheet for every sentence."""
    found, n_rows = stages(look), len(batched(look).rows)
    spread = (n_rows - 1) * SHIFT
    whole = sum(stage.width + spread for stage in found) + GAP * (len(found) - 1) + 0.5
    marks: list[Mark] = []
    left, top = 0.25, TOP + (n_rows - 1) * BACK
    end = top + TALL
    for k, stage in enumerate(found):
        if stage.step:
            x, y = np.array([left - GAP + 0.1, left - 0.1]) / whole, top + 0.4 * TALL
            ends = np.stack([x, np.zeros(2)], -1).astype(np.float32)
            high = np.array([y, y], np.float32)
            marks.append(Path(id=f"arrow.{k}", x=ends, y=high, stroke="residual", thick=2, head=7))
            middle = ((left - GAP / 2) / whole, 0.0)
            marks.append(Text(id=f"step.{k}", text=stage.step, x=middle, y=y - 12, anchor="middle"))
        for n in reversed(range(n_rows)):
            at, wide = ((left + n * SHIFT) / whole, 0.0), (stage.width / whole, 0.0)
            marks.append(
                Rect(
                    id=f"sheet.{k}.{n}", x=at, y=top - n * BACK, width=wide, height=TALL, fill=stage.role,
                    stroke=stage.role, opacity=0.28,
                )
            )  # fmt: skip
        middle = ((left + (stage.width + spread) / 2) / whole, 0.0)
        marks.append(Text(id=f"name.{k}", text=stage.name, x=middle, y=TOP - 14, anchor="middle", bold=True))
        for line, text in enumerate(stage.shape.split(" = ")):
            marks.append(Text(id=f"shape.{k}.{line}", text=text, x=middle, y=end + 12 + 16 * line, anchor="middle"))
        left += stage.width + spread + GAP
    panel = Panel(id="shapes", marks=marks, height=end + 42)
    return Scene(id="batch.shapes", panels=[panel], title=look.words("shapes_alt"), own=False)


title = say.title("shapes_title")


def tell(look: Look) -> Iterator[Line]:
    run, config = batched(look).run, look.config
    output = look.words("logits" if config.has_logits else "vectors")
    for verdict, gaps in ((ALONE, run.gaps), (OPEN, run.open_gaps)):
        gap = Gap(float(gaps.max()), run.largest, run.n_padding)
        numbers = {"gap": small(gap.gap), "largest": f"{gap.largest:.3g}"}
        yield Line(verdict.says(look.t.language, gap, output=output, **numbers))
    yield look.text(f"shapes_{config.kind}")
