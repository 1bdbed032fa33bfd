"""The lessons of this server, and their keys on its models."""

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz_model import topics
from viz_model.app import frame, runs
from viz_model.app.cache import cached
from viz_model.app.view import ViewState, parse
from viz_model.explain.backward import derivation
from viz_model.lessons import answers, keys, shelf
from viz_model.lessons.answers import Progress
from viz_model.lessons.keys import Answer, Asked
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.read import Offer
from viz_model.lessons.result import Row
from viz_model.runs.trace import Trace
from viz_model.texts import Texts


def lessons() -> shelf.Shelf:
    """All lessons and what was refused; read again when a file has changed. A visitor's own file is the visitor's."""
    found = shelf.files()
    times = tuple((str(path), path.stat().st_mtime_ns) for path in found.paths.values() if path.exists())
    read = _read(times, tuple(map(str, found.refused)))
    tried: Lesson | None = st.session_state.get(TRIED)
    return read if tried is None else read._replace(lessons={**read.lessons, TRIED: tried})


TRIED = "tried"
"""The name in addresses of a lesson from a file that was checked, which this visit alone has."""


@st.cache_resource(show_spinner=False, max_entries=1)
def _read(files: tuple[tuple[str, int], ...], refused: tuple[str, ...]) -> shelf.Shelf:
    return shelf.shelf(offer())


def offer() -> Offer:
    """What a lesson may name on this server. A visitor's own models are in nobody's lesson."""
    return Offer(runs.configs(), frame.FIRST, wrong)


def wrong(page: str, query: Mapping[str, str]) -> str | None:
    """What is wrong with a page and the query of its address, which names model and text; None where nothing is."""
    pages = _pages()
    if page not in pages:
        return f"no page {page!r}; there are {', '.join(pages)}"
    known = {"model", "text", "target", "to", "side", "layer", "head", "token", "edits", "cell"}
    known |= {choice.name for choice in pages[page].all_choices} | {
        asked.partition("=")[0] for asked in pages[page].opened_by
    }
    if unknown := sorted(query.keys() - known):
        return f"the page {page} knows no {unknown[0]!r}; it knows {', '.join(sorted(known))}"
    view, notices = parse(query, list(runs.configs()), runs.configs(), "en", page, pages[page].all_choices)
    t = Texts("en")
    said = [t(each.key, **{k: str(value) for k, value in each.values.items()}) for each in notices]
    if said:
        return said[0].split(". ")[0]
    if runs.configs()[view.model].reads_pictures:
        return f"{view.model} reads pictures, and a lesson has a sentence"
    return _absent(view, query)


def _absent(view: ViewState, query: Mapping[str, str]) -> str | None:
    """What an address names that its run does not have: only the run says how many tokens there are."""
    if not query.keys() & {"token", "cell", "edits"}:
        return None
    try:
        made = run(Asked.of(query))
        if view.cell is not None:
            derivation(made, view.cell.site, view.cell.index)
    except ValueError as problem:
        return str(problem)
    n = len(made.at(view.stack(made.config)))
    if view.token is not None and view.token >= n:
        return f"token {view.token}: {query['text'][:40]!r} has {n}, counted from 0"
    return None


@functools.cache
def _pages() -> dict[str, Any]:
    """The pages, each with what may be chosen on it: a page declares that itself, and is not opened to be asked."""
    rooms = [room.name for room in pkgutil.iter_modules(topics.__path__)]
    found = {}
    for room in rooms:
        own = importlib.import_module(f"{topics.__name__}.{room}")
        if hasattr(own, "TOPIC"):
            found[room] = importlib.import_module("viz_model.app.show").declared(own.TOPIC)
        elif hasattr(page := importlib.import_module(f"{own.__name__}.page"), "TOPIC"):
            found[room] = page.TOPIC
    return found


def run(asked: Asked) -> Trace:
    """A run as a page makes it: kept, and shared with the page.

    Raises:
        ValueError: it cannot be run.
    """
    if asked.model not in runs.configs():
        raise ValueError(f"no model {asked.model!r}")
    text, _ = runs.readable(asked.text)
    if not text:
        raise ValueError("there is no text")
    key = runs.RunKey(asked.model, text, edits=asked.edits)
    lm = runs.model(asked.model)
    if lm.config.kind == "encoder_decoder":
        to = asked.to if asked.to in lm.tokenizer.languages else next(iter(lm.tokenizer.languages), None)
        said = runs.greedy_target(asked.model, text, to) if asked.target is None else runs.readable(asked.target)[0]
        key = key._replace(target=said, to=to)
    return runs.trace(key)


def row(lesson: Lesson, progress: Progress, step: int, language: str) -> Row | None:
    """How the question of a step came out; None where it asks nothing."""
    if lesson.steps[step].question is None:
        return None
    key, given = answer(lesson, step, progress.on, language).key, progress.of(step)
    said = [answers.said(key, each) if key is not None else each for each in given.tries]
    first, second = (*said, "", "")[:2]
    right = answers.told(key) if key is not None else ""
    return Row(step + 1, lesson.steps[step].title[language], first, second, right, answers.outcome(key, given))


def answer(lesson: Lesson, step: int, on: str, language: str, model: str | None = None) -> Answer:
    """The key of a step, computed from the run as it is shown."""
    return _answer(lesson.name, lesson.digest, step, on, language, model)


@cached()
def _answer(name: str, digest: str, step: int, on: str, language: str, model: str | None) -> Answer:
    return keys.answer(lessons().lessons[name], step, on, language, run, model)
