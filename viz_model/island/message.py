"""The one message of a page: header in JSON, then all numbers. ``frontend/src/island.js`` draws it.

It is of every layer, head and token: where only these change it stays the same to the byte, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from viz_model.drawing.scene import PALETTE, Arrays, Scene, framed, value
from viz_model.drawing.scene import plain as plain_scene
from viz_model.island import prose
from viz_model.island.look import Look
from viz_model.island.page import Buttons, Chooser, Field, Item, Made, Offer, Page, Quiz, Ribbon, Row, Section
from viz_model.island.prose import html
from viz_model.texts import Texts


def message(page: Page, look: Look, arrays: Arrays, opened: Collection[str] = (), menu: str = "", **said: Any) -> bytes:
    """A page as bytes.

    Args:
        arrays: what the parts of ``said`` hold.
        opened: the sections that are open; of the others there is the title alone.
        menu: what the menu of a picture is called; "" where pictures have none.
        said: what stands around: the sentence, its tokens, where the server is in what it was told.
    """
    writer = _Writer(look, arrays, opened, menu, {name: str(values[0]) for name, values in page.options})
    header = {
        **_frame(look.t),
        "sizes": look.sizes,
        "layers": [look.layers.start, look.layers.stop],
        **said,
        "items": writer.items(page.items),
        "end": writer.items(page.end),
    }
    return framed(header, arrays)


def empty(t: Texts, arrays: Arrays, **said: Any) -> bytes:
    """A page without a run: what one types in, and why there is nothing to show."""
    return framed({**_frame(t), "sizes": {}, "layers": [0, 1], **said, "items": [], "end": []}, arrays)


def _frame(t: Texts) -> dict[str, Any]:
    words = {name: html(t(f"common.guess_{name}")) for name in ("right", "wrong")}
    words |= {name: t(f"common.{name}") for name in ("masked", "skip", "answer")}
    words |= {"guess": html(f"**{t('common.guess')}**")}
    return {"kind": "island", "language": t.language, "palette": PALETTE, "words": words}


class _Writer:
    def __init__(
        self, look: Look, arrays: Arrays, opened: Collection[str], menu: str, usual: Mapping[str, str]
    ) -> None:
        self._look, self._arrays, self._opened, self._menu, self._usual = look, arrays, opened, menu, usual

    def items(self, items: Iterable[Item | Row | Section]) -> list[dict[str, Any]]:
        return [made for item in items if (made := self._item(item)) is not None]

    def _item(self, item: Item | Row | Section) -> dict[str, Any] | None:
        match item:
            case Row():
                columns = [made for column in item.columns if (made := self.items(column))]
                if not columns:
                    return None
                return {"kind": "row", "shares": item.shares, "columns": columns}
            case Section():
                return self._section(item)
            case _:
                return self._made(item(self._look))

    def _section(self, section: Section) -> dict[str, Any] | None:
        if section.needs is not None and not section.needs(self._look):
            return None
        name, words = f"door_{section.name}", self._look.words
        own = {"kind": "section", "name": section.name, "title": words(name), "line": words(f"{name}_line")}
        return own | ({"items": self.items(section.items)} if section.name in self._opened else {})

    def _refused(self, chooser: Chooser) -> str:
        """What was asked for and is no option of this run; "" where none was."""
        asked, options = self._look.options.get(chooser.name), chooser.options
        known: Iterable[str] = map(str, options) if isinstance(options, range) else options
        if not asked or asked in (*known, self._usual.get(chooser.name)):
            return ""
        return html(self._look.t("common.unknown_beside", name=chooser.name, asked=asked))

    def _made(self, made: Made) -> dict[str, Any] | None:
        match made:
            case None:
                return None
            case Scene():
                words = {**made.words, **({"menu": self._menu} if self._menu else {})}
                return {**plain_scene(made, self._arrays), "words": words}
            case Chooser():
                return {**made.plain, "refused": self._refused(made)}
            case Buttons():
                return {"kind": "buttons", "name": made.name, "buttons": [one._asdict() for one in made.buttons]}
            case Ribbon():
                return made.plain
            case Field():
                return {"kind": "field", **made._asdict()}
            case Offer():
                change = {name: value(one, self._arrays) for name, one in made.change.items()}
                said, is_there = prose.said(made.said.words, self._arrays), value(made.present, self._arrays)
                return {"kind": "offer", "said": said, "label": made.label, "change": change, "present": is_there}
            case Quiz():
                texts = {name: prose.said(getattr(made, name), self._arrays) for name in ("asked", "said")}
                values = {name: value(getattr(made, name), self._arrays) for name in ("options", "right", "own")}
                return {"kind": "quiz", **texts, **values}
            case _:
                lines = prose.lines(made, self._arrays)
                return {"kind": "prose", "lines": lines} if lines else None
