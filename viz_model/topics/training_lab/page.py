"""Training lab: a small model learns while the visitor watches."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, itself, show
from viz_model.island.page import Trials
from viz_model.topics.training_lab import choices
from viz_model.topics.training_lab.sections import (
    first_loss,
    gradients,
    ignored,
    keep,
    settings,
    start,
    taken_apart,
    tune,
    watch,
)

TOPIC = Topic(
    name="training_lab",
    layout=Layout(
        of=itself,
        sections=(
            *(settings.section, start.section, watch.section, gradients.section, keep.section),
            Door("tune", (tune.section,), (choices.TUNE_STEPS,)),
            Door("ignored", (ignored.section,), (choices.IGNORED,)),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        trials=Trials(bugs=("loss", "drop_weights", "leave_out")),
        question=first_loss.question,
    ),
    choices=choices.ALL,
    has_place=False,
    without=frozenset({"head"}),
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
