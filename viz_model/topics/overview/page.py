"""Overview: the whole way from text to the model's answer, in one picture of this sentence's values."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.overview.sections import drawn, picture, taken_apart, to_try
from viz_model.topics.overview.sections.run import Run

TOPIC = Topic(
    name="overview",
    layout=Layout(
        of=Run,
        sections=(picture.section, to_try.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
        question=taken_apart.question,
    ),
    pictures=drawn.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
