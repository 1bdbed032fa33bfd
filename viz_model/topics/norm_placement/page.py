"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one.

Then what the place of the norm does in any model: before its first step, and in its first steps.
"""

from typing import Any

from viz_model.app.page import Page
from viz_model.app.topic import Door, Layout, Tabs, Topic, itself, show
from viz_model.island.page import Trials
from viz_model.topics.norm_placement import choices
from viz_model.topics.norm_placement.sections import (
    elsewhere,
    mixed,
    sentence,
    start,
    taken_apart,
    training,
    two_blocks,
    warmup,
)
from viz_model.topics.norm_placement.sections.comparison import Comparison

TWO = Layout(
    of=Comparison.of,
    sections=(
        two_blocks.section,
        Door("sentence", (sentence.section, sentence.alike), (choices.UNTRAINED, choices.GRADIENT)),
        Door("ends", (sentence.ends,)),
        Door("training", (start.section, warmup.section, training.section)),
        Door("mixed", (mixed.section,), (choices.MIXED,), is_alone=True),
    ),
    tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    trials=Trials(("norm", "residual"), ("layer_norm", "norm_side")),
    question=taken_apart.question,
)
ELSEWHERE = Layout(of=itself, sections=(elsewhere.section,))


def _layout(page: Page) -> Layout[Any]:
    return ELSEWHERE if elsewhere.stands_elsewhere(page.lm.config) else TWO


TOPIC = Topic(
    name="norm_placement",
    layout=_layout,
    layouts=(TWO, ELSEWHERE),
    choices=choices.ALL,
    without=frozenset({"head"}),
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
