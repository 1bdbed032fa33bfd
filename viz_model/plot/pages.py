"""A page of the app as one HTML file: everything on it answers, without the app, a server or a network."""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from viz_model import topics
from viz_model.checkpoints import registry
from viz_model.checkpoints.weights import ModelError
from viz_model.config import Side
from viz_model.island import page_file
from viz_model.island.look import Look
from viz_model.island.page import Page, Topic, Typed
from viz_model.measures import salience
from viz_model.plot.asking import counted, from_stack, known_language
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.texts import LANGUAGES, Texts

NAMES = tuple(sorted(one.name for one in pkgutil.iter_modules(topics.__path__)))
"""The pages that there are."""


@dataclass(frozen=True)
class PageFile:
    """A page of a run.

    Attributes:
        name: of the page, "attention".
        topic, page: what it is in the app.
        opening: what it shows first.
    """

    name: str
    topic: Topic
    page: Page
    opening: page_file.Opening

    def __repr__(self) -> str:
        return f"PageFile({self.name}: {self.opening.look.trace.name})"

    @cached_property
    def html(self) -> str:
        """The file as text."""
        return page_file.written(self.topic, self.page, self.opening)

    def save(self, path: str | Path) -> Path:
        """Write it to a file that opens in any browser, also from a stick or an LMS.

        Raises:
            ValueError: ``path`` does not end in .html.
        """
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"path: {path.name!r} does not end in .html")
        path.write_text(self.html, encoding="utf-8")
        return path


def page(
    trace: Trace,
    name: str = "attention",
    *,
    layer: int | None = None,
    head: int | None = None,
    token: int | None = None,
    stack: Side | None = None,
    language: str = "en",
    options: Mapping[str, str] | None = None,
    writes: bool = True,
) -> PageFile:
    """A page of the app of this run, to be saved as one HTML file.

    Every layer, head and token in it can be selected, its sections are there, and its texts are in all languages.

    Args:
        name: of the page as in its address; "walk" is the walk.
        layer, head, token: selected first; by default what the app would show.
        stack: of a model with two, the one shown first.
        language: shown first.
        options: what else is chosen first, as an address has it: ``{"matrix": "scores"}``.
        writes: put the weights into the walk, in half precision, so that one types and the model writes in the file:
            up to 14 MB in place of 3. Without them, or with a model that has other parts than the bundled decoders,
            it shows what the model wrote.

    Raises:
        TypeError: no trace.
        ValueError: there is no such page, layer, head, token, stack or language, or the page shows nothing of this
            model.
    """
    seen = from_stack(trace, stack)
    known_language(language)
    if name not in NAMES:
        raise ValueError(f"name: {name!r} is not one of {', '.join(NAMES)}")
    topic: Topic = import_module(f"viz_model.topics.{name}").TOPIC
    shown = topic.page(seen.config)
    if shown is None or (topic.needs is not None and not topic.needs(seen.config)):
        raise ValueError(f"name: {name!r} shows nothing of a model like {trace.name}")
    sides = [seen.config.sides[-1]] if topic.part == "cross" else list(seen.config.sides)
    side: Side = seen.stack.side if seen.stack.side in sides else sides[-1]
    chosen = {"layer": layer, "head": head, "token": token}
    usual = {name: _usual(value) for name, value in shown.options} | dict(options or {})
    lm, twin = _kin(seen, shown)
    looks: dict[str, dict[Side, Look]] = {language: {} for language in sorted(LANGUAGES, key=language.__ne__)}
    for one in sides:
        own = seen.at(one)
        asked = chosen if one == side else {}
        places = _places(topic, own, {axis: n for axis, n in asked.items() if n is not None})
        for spoken, found in looks.items():
            look = Look.at(own, Texts.of(spoken, own.config), shown.topic, layer=places["layer"], head=places["head"])
            second = None if twin is None else twin.at(one)
            found[one] = replace(look, token=places["token"], options=usual, lm=lm, twin=second)
    picked = [axis for axis, n in chosen.items() if n is not None]
    return PageFile(name, topic, shown, page_file.Opening(looks, language, side, (), picked, writes))


def _usual(value: Any) -> str:
    if isinstance(value, Typed):
        return value.usual
    return "" if isinstance(value, range) else str(value[0])


def _places(topic: Topic, trace: Trace, asked: Mapping[str, int]) -> dict[str, int]:
    """Layer, head and token: what was asked for, and for the rest what the app would show."""
    counts = {"layer": trace.n_layers, "head": trace.config.n_heads, "token": len(trace)}
    given = {axis: counted(axis, n, counts[axis]) for axis, n in asked.items()}
    if topic.start is not None:
        start = dict(zip(counts, topic.start(trace), strict=True))
    else:
        token = given.get("token", salience.token(trace))
        told = topic.telling(trace, token) if topic.telling is not None else None
        layer, head = told or salience.place(trace, topic.part)
        start = {"layer": layer, "head": head, "token": token}
    return {**start, **given}


def _kin(trace: Trace, page: Page) -> tuple[LanguageModel | None, Trace | None]:
    """The model as it was loaded, and for a page that shows it the same text in its twin; None where there is none."""
    if trace.name not in registry.models():
        return None, None
    try:
        lm = registry.load(trace.name)
        if not page.has_twin or lm.twin is None or trace.text is None or trace.edits:
            return lm, None
        return lm, registry.load(lm.twin).trace(trace.text)
    except (ModelError, ValueError):
        return None, None
