"""The one message of a page: header in JSON, then all numbers. ``frontend/src/island.js`` draws it.

It is of every layer, head and token: where only these change it stays the same to the byte, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from viz_model.drawing.scene import PALETTE, Arrays, Scene, framed, value
from viz_model.drawing.scene import plain as plain_scene
from viz_model.island import prose
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Item, Made, Page, Quiz, Row, Section
from viz_model.island.prose import Line, html


def message(page: Page, look: Look, opened: Collection[str] = (), menu: str = "", **said: Any) -> bytes:
    """A page as bytes.

    Args:
        opened: the sections that are open; of the others there is the title alone.
        menu: what the menu of a picture is called; "" where pictures have none.
        said: what stands around: the sentence, its tokens, where the server is in what it was told.
    """
    arrays = Arrays()
    writer = _Writer(look, arrays, opened, menu)
    header = {
        "kind": "island",
        "language": look.t.language,
        "palette": PALETTE,
        "sizes": look.sizes,
        "layers": [look.layers.start, look.layers.stop],
        "words": {
            "masked": look.t("common.masked"),
            "guess": html(f"**{look.t('common.guess')}**"),
            "right": html(look.t("common.guess_right")),
            "wrong": html(look.t("common.guess_wrong")),
        },
        **said,
        "items": writer.items(page.items),
        "end": writer.items(page.end),
    }
    return framed(header, arrays)


class _Writer:
    def __init__(self, look: Look, arrays: Arrays, opened: Collection[str], menu: str) -> None:
        self._look, self._arrays, self._opened, self._menu = look, arrays, opened, menu

    def items(self, items: Iterable[Item | Row | Section]) -> list[dict[str, Any]]:
        return [made for item in items if (made := self._item(item)) is not None]

    def _item(self, item: Item | Row | Section) -> dict[str, Any] | None:
        match item:
            case Row():
                return {
                    "kind": "row",
                    "shares": item.shares,
                    "columns": [self.items(column) for column in item.columns],
                }
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

    def _made(self, made: Made) -> dict[str, Any] | None:
        match made:
            case None:
                return None
            case Scene():
                words = {**made.words, **({"menu": self._menu} if self._menu else {})}
                return {**plain_scene(made, self._arrays), "words": words}
            case Chooser():
                return made.plain
            case Quiz():
                texts = {name: prose.said(getattr(made, name), self._arrays) for name in ("asked", "said")}
                return {
                    "kind": "quiz",
                    **texts,
                    **{name: value(getattr(made, name), self._arrays) for name in ("options", "right", "own")},
                }
            case _:
                lines = [one for one in made if isinstance(one, Line) and one.words]
                return prose.plain(lines, self._arrays) if lines else None
