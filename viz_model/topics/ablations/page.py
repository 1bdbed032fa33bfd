"""Break it: experiments with a question first and the measured answer after."""

from viz_model.app.topic import Layout, Tabs, Topic, show
from viz_model.topics.ablations import choices
from viz_model.topics.ablations.sections import ablation, compare, picture, taken_apart

TOPIC = Topic(
    name="ablations",
    layout=Layout(
        of=ablation.Ablation.of,
        sections=(ablation.section, compare.section),
        tabs=Tabs(taken_apart.formula, taken_apart.hand, taken_apart.code, taken_apart.numbers),
    ),
    choices=choices.ALL,
    pictures=picture.LAYOUT,
)


def run() -> None:
    """Open the page."""
    show(TOPIC)
