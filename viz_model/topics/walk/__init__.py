"""Start here: the model writes, and chapter by chapter one sees how. The reader sets the pace."""

from collections.abc import Callable, Mapping
from importlib import import_module

import numpy as np

from viz_model.island import say
from viz_model.island.beats import Chapter, Story
from viz_model.island.look import Look
from viz_model.island.page import Page, Topic
from viz_model.topics.walk import run as runs
from viz_model.topics.walk import writing
from viz_model.topics.walk.run import Run

ORDER = "write tokens embeddings position stream scores shares heads source ffn prediction learned broken"
CHAPTERS: Mapping[str, Callable[[Run], Chapter | None]] = {
    name: import_module(f"{__name__}.chapters.{name}").chapter for name in ORDER.split()
}
"""In the order in which one walks; a run has those that fit it."""

EVERYWHERE = ("write", "tokens", "embeddings", "source", "prediction", "learned")
"""Chapters that are the same whichever layer and head is selected: made once."""

FORMERLY = {
    **dict.fromkeys(("look", "overview"), "write"),
    **dict.fromkeys(("vectors", "embedding"), "embeddings"),
    **dict.fromkeys(("question", "attention"), "scores"),
    **dict.fromkeys(("alone", "block"), "ffn"),
    **dict.fromkeys(("again", "out", "attribution", "next_token"), "prediction"),
    **dict.fromkeys(("learnt", "training_lab"), "learned"),
    **dict.fromkeys(("break", "end", "ablations"), "broken"),
    **{"pieces": "tokens", "places": "position", "taken": "heads", "cross_attention": "source"},
}
"""Chapters by the names that addresses have had for them."""

MOST_BEATS = 9


def story(look: Look) -> Story:
    """All chapters of a run."""
    run, place = Run.of(look), {"layer": look.layer, "head": look.head}
    ways = {"attention": place, "norm_placement": {}, "training_lab": {}, "models": {}}
    buttons = ("next", "back", "play", "hidden", "right", "wrong", "another", "chapters")
    # The key whose score is worked out first: not the best one, which is asked for later, nor one of the same name.
    labels = np.array(run.labels)
    other = labels[run.shown] != labels[:, None]
    worst = np.where(other, run.rows(run.dots), np.inf).argmin(-1).astype(np.int32)

    def made(name: str) -> Chapter | None:
        if name in EVERYWHERE or (name == "broken" and run.is_recorded):
            return look.once(lambda _: CHAPTERS[name](run), ("walk chapter", name, look.token))
        return CHAPTERS[name](run)

    return Story(
        f"{id(look.trace)} {look.layer} {look.head} {look.t.language}",
        [chapter for chapter in map(made, CHAPTERS) if chapter is not None],
        {"key": run.shown.shape[1]},
        place,
        {"key": ("token", run.by("token", worst))},
        {"pause": look.words("writer_pause"), **{name: look.words(f"button_{name}") for name in buttons}},
        [(page, changes, look.words(f"way_{page}")) for page, changes in ways.items()],
        writing.recorded(run),
    )


OPTIONS = (("chapter", ("", *CHAPTERS)), ("beat", tuple(map(str, range(1, MOST_BEATS + 1)))))
PAGE = Page("walk", (story,), options=OPTIONS, fits=lambda _: True, reads_plain=True, unattended=(say.elsewhere,))
FORMER = {"stop": ("chapter", FORMERLY)}
TOPIC = Topic("walk", (PAGE,), of_words=True, start=runs.start, is_story=True, formerly=FORMER, sums_heads=True)
