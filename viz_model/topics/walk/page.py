"""Start here: one sentence travels through the model, stop by stop, while one watches."""

from viz_model.app.topic import Layout, Topic, itself, show
from viz_model.topics.walk.choices import ALL
from viz_model.topics.walk.numbers.views import telling
from viz_model.topics.walk.sections.stop import section

TOPIC = Topic(name="walk", layout=Layout(of=itself, sections=(section,)), choices=ALL, is_bare=True, telling=telling)


def run() -> None:
    """Open the page."""
    show(TOPIC)
