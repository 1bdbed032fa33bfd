"""What comes out at the end, by what a model puts out: a next token, a covered token, a class, or vectors alone."""

from dataclasses import replace
from functools import partial

from viz_model.config import ModelConfig
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Page, Row, Section, Topic, beside, through, where
from viz_model.island.tabs import Trials
from viz_model.topics.next_token import (
    arrivals,
    beam,
    cache,
    choice,
    classes,
    drawn,
    draws,
    repetition,
    similarity,
    tabs,
    tail,
    work,
)
from viz_model.topics.next_token import asked as asking

SLIDERS = Row(tuple((asking.chooser(name),) for name, _ in asking.OPTIONS), (1, 1, 1))
TAIL = Section("tail", (tail.title, beside((tail.draw, choice.source), tail.tell)))
ARRIVALS = (arrivals.before, arrivals.title, arrivals.draw, arrivals.tell)
TRIALS = Trials(("patch", "shuffle"), ("logits", "loss"))
DRAWS = (
    draws.title,
    *where(draws.can, Row(((draws.choose_seed,), (draws.buttons,)), (1, 2)), draws.none_yet),
    *where(
        drawn.steps,
        *(
            item
            for name in ("drawn", "drawn_greedy")
            for item in (draws.said_of(name), partial(draws.ribbon, name=name))
        ),
        draws.fell_title,
        beside(draws.draw, draws.tell),
        *where(repetition.is_there, repetition.title, beside(repetition.draw, repetition.tell)),
        draws.choose_greedy,
        draws.greedy_text,
        draws.tell_greedy,
        draws.end,
    ),
)
CACHE = through(
    lambda look: look.of("kv_cache"),
    cache.title,
    beside((cache.draw, *where(cache.reads_source, cache.source_title, cache.draw_source)), cache.tell),
    work.title,
    beside(work.draw, work.tell),
)
OPTIONS = (*asking.OPTIONS, *drawn.OPTIONS, beam.OPTION)


def group_of(config: ModelConfig) -> str:
    """The group of texts, which names the lines of code too."""
    if config.is_vision_encoder:
        return "next_token"
    if config.classes:
        return "text_classes"
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else "next_token"


def _reports(look: Look) -> bool:
    return look.has("logits")


NEXT = Page(
    "next_token",
    items=(
        say.text("lead"),
        choice.from_encoder,
        SLIDERS,
        choice.title,
        beside((choice.draw, choice.mass, choice.source), choice.tell),
        *DRAWS,
        TAIL,
        Section("beam", (beam.title, beam.choose, beam.draw, beam.tell), ("beam",), beam.can),
        Section("cache", CACHE),
        Section("arrivals", ARRIVALS),
    ),
    end=(tabs.quiz, tabs.to_try),
    options=OPTIONS,
    tabs=tabs.APART,
    trials=TRIALS,
    fits=lambda config: not config.is_vision_encoder and group_of(config) == "next_token",
)
MASKED = Page(
    "masked_token",
    items=(
        say.text("lead"),
        SLIDERS,
        choice.title,
        Row(((choice.draw, choice.mass, choice.source), (choice.tell, choice.beside, choice.visible))),
        TAIL,
        Section("arrivals", ARRIVALS),
    ),
    end=(tabs.quiz, tabs.to_try),
    options=asking.OPTIONS,
    tabs=tabs.APART,
    trials=TRIALS,
    fits=lambda config: group_of(config) == "masked_token",
)
VECTORS = Page(
    "sentence_vectors",
    items=(
        say.text("lead"),
        say.text("output", lambda look: {"n": len(look), "d_model": look.config.d_model}),
        similarity.title,
        beside((similarity.draw, similarity.source), similarity.tell),
    ),
    end=(similarity.to_try,),
    tabs=similarity.APART,
    fits=lambda config: group_of(config) == "sentence_vectors",
)
CLASSES = (classes.title, *where(classes.has, beside((classes.draw, classes.source), classes.tell)))
DEPTH = where(classes.has, classes.draw_depth, classes.tell_depth)
OF_TEXT = Page(
    "text_classes",
    items=(say.text("lead"), *CLASSES, *DEPTH),
    end=(classes.quiz, classes.to_try),
    tabs=classes.APART,
    fits=lambda config: group_of(config) == "text_classes",
)
OBSERVED = Page(
    "next_token",
    items=(
        say.observed,
        *where(_reports, SLIDERS, choice.title, beside((choice.draw, choice.source), choice.tell)),
        replace(TAIL, needs=_reports),
        Section("arrivals", ARRIVALS, needs=_reports),
    ),
    options=asking.OPTIONS,
    observed=True,
    fits=lambda config: group_of(config) != "masked_token",
)
OBSERVED_IN_PLACE = replace(
    OBSERVED,
    topic="masked_token",
    items=OBSERVED.items[:-1],  # no token was covered
    fits=lambda config: group_of(config) == "masked_token",
)
PICTURES = Page(
    "next_token",
    items=(say.text("lead"), *CLASSES, Section("depth", DEPTH, needs=classes.has)),
    end=(classes.quiz, classes.to_try),
    tabs=classes.APART,
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic(
    "next_token",
    (NEXT, MASKED, VECTORS, OF_TEXT, PICTURES, OBSERVED, OBSERVED_IN_PLACE),
    has_place=False,
    without=frozenset({"head"}),
    mixes=True,
)
