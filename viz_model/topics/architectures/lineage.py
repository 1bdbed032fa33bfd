"""Where it all comes from: the changes since 2017, one at a time, and a pair of models that differ in it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import viz_model as vm
from viz_model.drawing.scene import Items, Mark, Panel, Path, Rect, Scene, Text, Texts
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Offer
from viz_model.island.prose import Line

STEP = "step"
ROW, TOP, YEARS, NAMES = 23.0, 8.0, 44.0, 76.0
"""Pixels of a row and above the first, to the dots, and to the names."""


class Change(NamedTuple):
    """One change: its name in the texts, when it was published, the role of the part that it changes, and two bundled
    models to see it on, the later one first; "" where none has it.
    """

    name: str
    year: int
    role: str
    model: str = ""
    other: str = ""


CHANGES = (
    Change("transformer", 2017, "residual", "translate-2017"),
    Change("decoder", 2018, "residual", "story-post-ln", "translate-2017"),
    Change("encoder", 2018, "pattern", "story-bert", "story-post-ln"),
    Change("pre_ln", 2019, "norm", "story-pre-ln", "story-post-ln"),
    Change("t5", 2019, "position", "translate-t5", "translate-2017"),
    Change("rmsnorm", 2019, "norm", "story-modern", "story-pre-ln"),
    Change("mqa", 2019, "key"),
    Change("glu", 2020, "ffn", "story-modern", "story-pre-ln"),
    Change("vit", 2020, "token", "digits-vit"),
    Change("rope", 2021, "position", "story-modern", "story-pre-ln"),
    Change("alibi", 2021, "position", "story-alibi", "story-pre-ln"),
    Change("experts", 2021, "ffn", "story-moe", "story-pre-ln"),
    Change("gqa", 2023, "key", "story-modern", "story-pre-ln"),
    Change("windows", 2023, "pattern"),
    Change("nope", 2023, "position", "story-none", "story-pre-ln"),
    Change("qk_norm", 2023, "query", "story-modern", "story-pre-ln"),
    Change("latent", 2024, "key"),
    Change("shared_experts", 2024, "ffn"),
    Change("delta", 2024, "value", "story-next", "story-modern"),
    Change("sinks", 2025, "pattern"),
    Change("output_gate", 2025, "value"),
)
"""In the order of their papers."""
NAMED = {change.name: n for n, change in enumerate(CHANGES)}


def chosen(look: Look) -> Change:
    return CHANGES[NAMED.get(look.options.get(STEP, ""), 0)]


def choose(look: Look) -> Chooser:
    options = {one.name: f"{one.year} · {look.words(f'lineage_{one.name}')}" for one in CHANGES}
    return Chooser(STEP, options, look.words("lineage_step"), asks=True, is_list=True)


def draw(look: Look) -> Scene:
    """A row for each change, from the first to the last; a click tells of one."""
    own = NAMED[chosen(look).name]
    middle = TOP + ROW * (np.arange(len(CHANGES), dtype=np.float32) + 0.5)
    across = np.full(len(CHANGES), YEARS + 14, np.float32)
    named = [str(look.words(f"lineage_{one.name}")) for one in CHANGES]
    years = [str(one.year) if n == 0 or CHANGES[n - 1].year != one.year else "" for n, one in enumerate(CHANGES)]
    marks: list[Mark] = [
        Path(id="line", x=across[:2], y=middle[[0, -1]], stroke="grid"),
        Rect(
            id="chosen", x=YEARS, y=TOP + ROW * own, width=(1, -YEARS), height=ROW, stroke="accent", thick=2, radius=4
        ),
        Texts(id="years", texts=years, x=across - 20, y=middle, anchor="end"),
        Items(
            id="changes",
            x=across,
            y=middle,
            symbol=["circle" if one.model else "circle-open" for one in CHANGES],
            size=11,
            fill=[one.role for one in CHANGES],
            stroke=[one.role for one in CHANGES],
            labels=[f"{one.year} · {name}" for one, name in zip(CHANGES, named, strict=True)],
            picks=[one.name for one in CHANGES],
            down=True,
        ),
        *(Text(id=f"name.{n}", text=name, x=NAMES, y=float(middle[n]), bold=n == own) for n, name in enumerate(named)),
    ]
    panel = Panel(id="lineage", marks=marks, height=2 * TOP + ROW * len(CHANGES), most=460)
    return Scene(
        id="architectures.lineage", panels=[panel], title=look.words("lineage_alt"), note=look.words("lineage_note"),
        option=STEP, own=False,
    )  # fmt: skip


def tell(look: Look) -> Iterator[Line]:
    change = chosen(look)
    yield look.part(f"lineage_{change.name}")
    yield look.text(f"lineage_{change.name}")


def see(look: Look) -> Offer | None:
    """The pair that shows the change, on this sentence."""
    change = chosen(look)
    here = {look.trace.name, look.options.get("compare")}
    if not change.model or change.model not in vm.models() or here == {change.model, change.other}:
        return None
    pair = {"model": change.model, **({"compare": change.other} if change.other else {})}
    said = look.text("lineage_pair" if change.other else "lineage_model", model=change.model, other=change.other)
    return Offer(said, look.words("lineage_see"), pair)
