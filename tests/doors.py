"""The doors of the pages, all of them open: what a test asks of a page's address that is to see the whole page.

Without a browser the app draws what is behind a door in any case.
"""

from __future__ import annotations

from importlib import import_module

from viz_model.app.choices import APART, TRIALS
from viz_model.app.frame import FIRST
from viz_model.app.show import Declared, declared
from viz_model.app.topic import Topic
from viz_model.island.page import Topic as IslandTopic


def topic(page: str) -> Topic | Declared:
    """What a page is declared as."""
    own = import_module(f"viz_model.topics.{page}")
    if hasattr(own, "TOPIC"):
        return declared(own.TOPIC)
    found = import_module(f"viz_model.topics.{page}.page").TOPIC
    assert isinstance(found, Topic)
    return found


def island_of(page: str) -> IslandTopic:
    """The same of a page that is one island: what it shows of each kind of model."""
    found: IslandTopic = import_module(f"viz_model.topics.{page}").TOPIC
    return found


def all_open(page: str) -> dict[str, str]:
    """The parameters of an address that open every door of a page; the walk is asked for by one of its stops."""
    names = [choice.name for choice in topic(page).all_choices if choice.name.startswith("door_")]
    doors = dict.fromkeys((APART.name, TRIALS.name, *names), "1")
    return {"stop": "look", **doors} if page == FIRST else doors
