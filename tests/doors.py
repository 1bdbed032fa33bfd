"""The doors of the pages, all open: what an address asks for that is to show the whole page in a browser."""

from importlib import import_module

from viz_model.app.choices import APART, TRIALS
from viz_model.app.declared import Declared, declared
from viz_model.island.page import Topic as IslandTopic


def topic(page: str) -> Declared:
    """What an address of a page may say."""
    return declared(island_of(page))


def island_of(page: str) -> IslandTopic:
    """What a page shows of each kind of model."""
    found: IslandTopic = import_module(f"viz_model.topics.{page}").TOPIC
    return found


def all_open(page: str) -> dict[str, str]:
    """The parameters of an address that open every door of a page; the walk is asked for by one of its chapters."""
    if island_of(page).is_story:
        return {"chapter": "write"}
    names = [choice.name for choice in topic(page).all_choices if choice.name.startswith("door_")]
    return dict.fromkeys((APART.name, TRIALS.name, *names), "1")
