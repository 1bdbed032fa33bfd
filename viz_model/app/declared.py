"""What an address of a page may say: its own choices, those of its sections and doors, and what opens which."""

from typing import Any, NamedTuple

from viz_model.app import (
    block_doors,
    cache_times,
    checkpoint_times,
    island,
    lab,
    mask_editor,
    norm_training,
    other_sentences,
    two_sentences,
)
from viz_model.app.choices import APART, CODE, TAB, TRIALS, Choice, switch
from viz_model.app.expander import Door
from viz_model.app.share import PICTURE
from viz_model.island.page import Topic

DOORS: dict[str, tuple[Door, ...]] = {
    "attention": (mask_editor.DOOR,),
    "block": block_doors.DOORS,
    "norm_placement": (norm_training.DOOR,),
    "embedding": (two_sentences.DOOR,),
    "next_token": (cache_times.DOOR,),
    "cost": (checkpoint_times.DOOR,),
    "training_lab": lab.DOORS,
    "sentence_vectors": (other_sentences.DOOR,),
}
"""By the group of a page's texts: below it, what runs the model again with what a visitor makes there; of models that
read texts alone.
"""


class Declared(NamedTuple):
    """What an address of a page may say, and what in it opens which section."""

    all_choices: tuple[Choice[Any], ...]
    opened_by: dict[str, Choice[bool]]


def declared(topic: Topic) -> Declared:
    """Of a page that is not opened to be asked."""
    return Declared(_choices(topic), _opened_by(topic))


def doors(topic: Topic) -> list[Door]:
    return [door for group in dict.fromkeys(page.topic for page in topic.pages) for door in DOORS.get(group, ())]


def _choices(topic: Topic) -> tuple[Choice[Any], ...]:
    beside = [choice for door in doors(topic) for choice in (door.choice, *door.choices)]
    own = {name: choice for page in topic.pages for name, choice in island.options_of(page).items()}
    named = (TAB, CODE, APART, TRIALS, PICTURE)
    every: tuple[Choice[Any], ...] = (*named, *own.values(), *_sections(topic).values(), *beside)
    return tuple(dict.fromkeys(every))


def _sections(topic: Topic) -> dict[str, Choice[bool]]:
    return {section.name: switch(f"door_{section.name}") for page in topic.pages for section in page.sections}


def _opened_by(topic: Topic) -> dict[str, Choice[bool]]:
    found = {choice.name: APART for choice in (TAB, CODE)}
    for page in topic.pages:
        for section in page.sections:
            found |= {asked: switch(f"door_{section.name}") for asked in section.opened_by}
    for door in doors(topic):
        found |= door.opened_by
    return found
