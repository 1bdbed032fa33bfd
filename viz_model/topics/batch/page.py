"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""

from viz_model.app.topic import Door, Layout, Tabs, Topic, show
from viz_model.island.page import Trials
from viz_model.topics.batch import choices
from viz_model.topics.batch.sections import loss, norms, rows, shapes, taken_apart, tutorial
from viz_model.topics.batch.sections.batched import Batched

TOPIC = Topic(
    name="batch",
    layout=Layout(
        of=Batched.of,
        sections=(
            rows.section,
            shapes.section,
            Door("loss", (loss.section,), formerly="part=loss"),
            Door("norms", (norms.section,), formerly="part=norms"),
            Door("tutorial", (tutorial.section,), (choices.PIECE,), "part=tutorial", is_alone=True),
        ),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        trials=Trials(bugs=("padded",)),
        question=taken_apart.question,
    ),
    choices=choices.ALL,
    without=frozenset({"head"}),
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
