"""Reading a page that is one island: its sentences and pictures as they are for a selection, without a browser."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import viz_model as vm
from viz_model.drawing.scene import Scene, seen
from viz_model.drawing.tables import By, pick
from viz_model.island.look import Look, Other
from viz_model.island.page import Buttons, Chooser, Field, Page, Plain, Plot, Quiz, Ribbon, Section, flat
from viz_model.island.prose import Line
from viz_model.island.prose import html as as_html
from viz_model.texts import Texts


def look(trace: vm.Trace, page: Page, lang: str = "en", options: Mapping[str, str] | None = None, **place: Any) -> Look:
    """A look at a run for a page, as the app makes it, with what is chosen on the page."""
    found = Look.at(trace, Texts.of(lang, trace.config), page.topic, **place)
    return replace(found, options={**found.options, **(options or {})})


def beside(look: Look, lm: vm.LanguageModel, trace: vm.Trace | None = None) -> Look:
    """The same beside another model, with or without a run of it."""
    return replace(look, other=Other(lm.name, {lm.name: lm.name}, lm, trace, "" if trace else "refused"))


def made(page: Page, look: Look) -> Iterator[Any]:
    """All that stands on a page, sections opened, in the order of reading."""
    parts = (*page.items, *page.end)
    shown = [one for one in parts if not (isinstance(one, Section) and one.needs is not None and not one.needs(look))]
    for item in flat(shown):
        found = item(look)
        if isinstance(found, Scene | Plot | Plain | Chooser | Field | Quiz | Buttons | Ribbon):
            yield found
        elif found is not None:
            yield from found


def sentences(page: Page, look: Look, **place: int) -> list[str]:
    """What is said at a selection, by default the look's own, as plain text."""
    here = {**look.place, **place}
    return [said(one, here) for one in made(page, look) if isinstance(one, Line) and said(one, here)]


def told(page: Page, look: Look, **place: int) -> str:
    return "\n".join(sentences(page, look, **place))


def said(line: Line, place: dict[str, int]) -> str:
    """A line as plain text: tables looked up, markup taken off."""
    assert not isinstance(line.words, By), "a message has one text with its places, or one of some texts"
    return plain(as_html(str(pick(line.words, place))))


def plain(markup: str) -> str:
    """HTML without its tags; a marked term is as the words around it."""
    words = re.sub(r'<span data-term="\w+">(.*?)</span>', r"\1", markup)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", words))).strip()


def pictures(page: Page, look: Look, **place: int) -> dict[str, Scene]:
    """The pictures of a selection, by their names."""
    here = {**look.place, **place}
    return {one.id: seen(one, here) for one in made(page, look) if isinstance(one, Scene)}


def mark(scene: Scene | None, id: str) -> Any:
    """A mark of a picture by its name."""
    assert scene is not None
    (found,) = [one for panel in scene.panels for one in panel.marks if one.id == id]
    return found


def one(lines: Iterable[Line], place: dict[str, int]) -> list[str]:
    """What one item says."""
    return [said(line, place) for line in lines]
