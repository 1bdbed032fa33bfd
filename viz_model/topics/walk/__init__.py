"""Start here: the model writes, and chapter by chapter one sees how. The reader sets the pace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viz_model.island import say
from viz_model.island.beats import Chapter, Story
from viz_model.island.look import Look
from viz_model.island.page import Page, Topic
from viz_model.topics.walk import run as runs
from viz_model.topics.walk import writing
from viz_model.topics.walk.chapters import (
    broken,
    embeddings,
    feedforward,
    heads,
    learned,
    position,
    prediction,
    scores,
    shares,
    source,
    stream,
    tokens,
    write,
)
from viz_model.topics.walk.run import Run

CHAPTERS = {
    "write": write.chapter,
    "tokens": tokens.chapter,
    "embeddings": embeddings.chapter,
    "position": position.chapter,
    "stream": stream.chapter,
    "scores": scores.chapter,
    "shares": shares.chapter,
    "heads": heads.chapter,
    "source": source.chapter,
    "ffn": feedforward.chapter,
    "prediction": prediction.chapter,
    "learned": learned.chapter,
    "broken": broken.chapter,
}
"""In the order in which one walks; a run has those that fit it."""

EVERYWHERE = ("write", "tokens", "embeddings", "source", "prediction", "learned")
"""Chapters that are the same whichever layer and head is selected: made once."""

FORMERLY = {
    "look": "write",
    "pieces": "tokens",
    "vectors": "embeddings",
    "places": "position",
    "question": "scores",
    "taken": "heads",
    "alone": "ffn",
    "again": "prediction",
    "out": "prediction",
    "break": "broken",
    "learnt": "learned",
    "end": "broken",
    "embedding": "embeddings",
    "attention": "scores",
    "cross_attention": "source",
    "block": "ffn",
    "attribution": "prediction",
    "next_token": "prediction",
    "overview": "write",
    "ablations": "broken",
    "training_lab": "learned",
}
"""Chapters by the names that addresses have had for them."""

MOST_BEATS = 9


def story(look: Look) -> Story:
    """All chapters of a run."""
    run = Run.of(look)
    own = {"embeddings": tokens.patch_embeddings, "tokens": tokens.patches} if look.trace.shows_patches else {}
    made = [_chapter(look, name, own.get(name, make), run) for name, make in CHAPTERS.items()]
    names = ("next", "back", "play", "hidden", "right", "wrong", "another", "chapters")
    place = {"layer": look.layer, "head": look.head}
    ways = [
        ("attention", place, look.words("way_heads")),
        ("norm_placement", {}, look.words("way_norm")),
        ("training_lab", {}, look.words("way_train")),
        ("models", {}, look.words("way_own")),
    ]
    text = f"{id(look.trace)} {look.layer} {look.head} {look.t.language}"
    return Story(
        text,
        [chapter for chapter in made if chapter is not None],
        {"key": int(run.shown.shape[1])},
        place,
        {"key": ("token", run.by("token", np.asarray(run.follow, dtype=np.int32)))},
        {"pause": look.words("writer_pause"), **{name: look.words(f"button_{name}") for name in names}},
        ways,
        writing.recorded(run),
    )


def _chapter(look: Look, name: str, make: Callable[[Run], Chapter | None], run: Run) -> Chapter | None:
    if name not in EVERYWHERE and not (name == "broken" and run.is_recorded):
        return make(run)
    return look.once(lambda _: make(run), ("walk chapter", name, look.token))


PAGE = Page(
    "walk",
    (story,),
    options=(("chapter", ("", *CHAPTERS)), ("beat", ("1", *map(str, range(2, MOST_BEATS + 1))))),
    fits=lambda config: True,
    reads_plain=True,
    unattended=(say.elsewhere,),
)
TOPIC = Topic(
    "walk",
    (PAGE,),
    of_words=True,
    start=runs.start,
    is_story=True,
    formerly={"stop": ("chapter", FORMERLY)},
    sums_heads=True,
)
