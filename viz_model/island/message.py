"""The one message of a page: header in JSON, then all numbers. ``frontend/src/island.js`` draws it.

It is of every layer, head and token: where only these change it stays the same to the byte, and nothing is sent.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from viz_model.drawing.scene import PALETTE, Arrays, Scene, framed, value
from viz_model.drawing.scene import plain as plain_scene
from viz_model.island import beats, prose
from viz_model.island.beats import Story
from viz_model.island.held import is_rather_long
from viz_model.island.look import Look
from viz_model.island.page import (
    Button,
    Buttons,
    Chooser,
    Field,
    Item,
    Made,
    Offer,
    Page,
    Plain,
    Plot,
    Quiz,
    Ribbon,
    Row,
    Section,
    is_there,
)
from viz_model.island.prose import html, line
from viz_model.model.sites import NoSite
from viz_model.texts import Texts


def message(
    page: Page,
    look: Look,
    arrays: Arrays,
    opened: Collection[str] = (),
    menu: str = "",
    beside: Look | None = None,
    **said: Any,
) -> bytes:
    """A page as bytes.

    Args:
        beside: another run, of which the page has the same on the right, item by item.
        arrays: what the parts of ``said`` hold.
        opened: the sections that are open; of the others there is the title alone.
        menu: what the menu of a picture is called; "" where pictures have none.
        said: what stands around: the sentence, its tokens, where the server is in what it was told.
    """
    usual = {name: str(values[0]) for name, values in page.options}
    writer = Writer(look, arrays, opened, menu, usual)
    other = None if beside is None else Writer(beside, arrays, opened, "", usual)
    looks = [look] if beside is None else [look, beside]
    page = page.seen(look)
    header = {
        **frame(look.t),
        "sizes": max((one.sizes for one in looks), key=lambda sizes: sizes["token"]),
        "sides": [one.sizes for one in looks],
        **said,
        "items": writer.items(page.items, other),
        "end": writer.items(page.end, other),
    }
    held = [range(one.n_layers) if _holds_all(one, arrays) else one.layers for one in looks]
    header["layers"] = [max(layers.start for layers in held), min(layers.stop for layers in held)]
    if other is not None and not any(_differ(made) for made in (*header["items"], *header["end"])):
        header["notes"] = [*said.get("notes", ()), *prose.lines([line(look.common("beside_same"), "note")], arrays)]
    return framed(header, arrays)


def _holds_all(look: Look, arrays: Arrays) -> bool:
    """Whether a page tells of all layers, though that would be too much of some values."""
    return is_rather_long(look.trace) and not arrays.is_of_layer


def empty(t: Texts, arrays: Arrays, **said: Any) -> bytes:
    """A page without a run: what one types in, and why there is nothing to show."""
    return framed({**frame(t), "sizes": {}, "sides": [{}], "layers": [0, 1], **said, "items": [], "end": []}, arrays)


def frame(t: Texts) -> dict[str, Any]:
    words = {name: html(t(f"common.guess_{name}")) for name in ("right", "wrong")}
    words |= {name: t(f"common.{name}") for name in ("masked", "skip", "answer", "differs")}
    words |= {"guess": html(f"**{t('common.guess')}**")}
    return {"kind": "island", "language": t.language, "palette": PALETTE, "words": words}


def _differ(made: Mapping[str, Any]) -> bool:
    """Whether a part of a page, or one within it, stands there twice."""
    within = [*made.get("items", ()), *(one for column in made.get("columns", ()) for one in column)]
    return bool(made.get("sides")) or any(_differ(one) for one in within if isinstance(one, Mapping))


def _pair(own: dict[str, Any] | None, other: dict[str, Any] | None) -> Iterable[dict[str, Any]]:
    """An item of both runs. What both say alike stands there once, and so does what one chooses with, guesses and is
    offered, which is the first's.
    """
    kinds = {one["kind"] for one in (own, other) if one is not None}
    if kinds & {"scene", "plot", "prose", "ribbon"} and _shown(own) != _shown(other):
        yield _sides(*([] if one is None else [one] for one in (own, other)))
    elif found := own or other:
        yield found


def _shown(made: dict[str, Any] | None) -> dict[str, Any]:
    """What is seen of an item: the menu of its picture, which the first run's alone has, is no difference."""
    words = {name: word for name, word in (made or {}).get("words", {}).items() if name != "menu"}
    return {**(made or {}), "words": words}


def _sides(*columns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": "row", "sides": True, "shares": [1, 1], "columns": columns}


class Writer:
    def __init__(
        self, look: Look, arrays: Arrays, opened: Collection[str], menu: str, usual: Mapping[str, str]
    ) -> None:
        self._look, self._arrays, self._opened, self._menu, self._usual = look, arrays, opened, menu, usual

    def items(self, items: Iterable[Item | Row | Section], other: "Writer | None" = None) -> list[dict[str, Any]]:
        return [made for item in items for made in self._item(item, other)]

    def _item(self, item: Item | Row | Section, other: "Writer | None") -> Iterable[dict[str, Any]]:
        match item:
            case Row() if other is not None:  # of half the width, whose columns stand below each other
                for column in item.columns:
                    yield from self.items(column, other)
            case Row():
                if columns := [made for column in item.columns if (made := self.items(column))]:
                    yield {"kind": "row", "shares": item.shares, "columns": columns}
            case Section():
                yield from self._section(item, other)
            case _:
                own = self._of(item)
                if other is not None:
                    yield from _pair(own, other._of(item))
                elif own is not None:
                    yield own

    def _of(self, item: Item) -> dict[str, Any] | None:
        """What an item shows; nothing where it asks for a value that this layer does not make, as others do."""
        try:
            return self._made(item(self._look))
        except NoSite:
            if not self._look.config.mixers:
                raise
            return None

    def _section(self, section: Section, other: "Writer | None") -> Iterable[dict[str, Any]]:
        writers = [writer for writer in (self, other) if writer is not None and is_there(section, writer._look)]
        if not writers:
            return
        name, words = f"door_{section.name}", self._look.words
        own = {"kind": "section", "name": section.name, "title": words(name), "line": words(f"{name}_line")}
        if section.name not in self._opened:
            yield own
        elif other is None or len(writers) == 2:
            yield own | {"items": self.items(section.items, other)}
        else:  # one of the two texts has nothing of the kind
            columns = (writer.items(section.items) if writer in writers else [] for writer in (self, other))
            yield own | {"items": [_sides(*columns)]}

    def _refused(self, chooser: Chooser) -> str:
        """What was asked for and is no option of this run; "" where none was."""
        asked = self._look.options.get(chooser.name)
        if not asked or asked in (*chooser.every, self._usual.get(chooser.name)):
            return ""
        return html(self._look.t("common.unknown_beside", name=chooser.name, asked=asked))

    def _made(self, made: Made) -> dict[str, Any] | None:
        match made:
            case None:
                return None
            case Scene():
                words = {**made.words, **({"menu": self._menu} if self._menu else {})}
                return {**plain_scene(made, self._arrays), "words": words}
            case Plot():
                return _plot(made, self._look.t, self._menu, self._arrays)
            case Chooser():
                sent = {name: value(one, self._arrays) for name, one in made.plain.items()}
                return {**sent, "refused": self._refused(made)}
            case Buttons():
                return {"kind": "buttons", "name": made.name, "buttons": list(map(self._button, made.buttons))}
            case Ribbon():
                return {**made.plain, "selected": value(made.selected, self._arrays)}
            case Plain():
                return {**made.data, "kind": made.kind, "id": made.name}
            case Story():  # it is told of the selected layer
                self._arrays.is_of_layer = True
                return beats.plain(made, self._arrays)
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

    def _button(self, button: Button) -> dict[str, Any]:
        tables = {name: value(getattr(button, name), self._arrays) for name in ("label", "is_off")}
        change = {name: value(one, self._arrays) for name, one in button.change.items()}
        return {**button._asdict(), **tables, "change": change}


def plot(made: Plot, t: Texts, menu: str = "") -> bytes:
    """A plot that stands in no page of this kind, as bytes; ``menu`` is as in :func:`message`."""
    arrays = Arrays()
    return framed({**_plot(made, t, menu, arrays), "language": t.language, "palette": PALETTE}, arrays)


def _plot(made: Plot, t: Texts, menu: str, arrays: Arrays) -> dict[str, Any]:
    words = {name: t(f"common.numbers_{name}") for name in ("open", "close", "item", "ask")}
    words |= {"part": t("common.numbers_part", shown="{shown}", n="{n}"), "back": t("common.plot_back")}
    data = [_sent(trace.to_plotly_json(), arrays) for trace in made.figure.data]
    layout = _sent(made.figure.layout.to_plotly_json(), arrays)
    layout.pop("template", None)  # which says all that Plotly would have done anyway
    own = {"kind": "plot", "id": made.id, "alt": made.alt, "figure": {"data": data, "layout": layout}}
    return {**own, "words": {**words, **({"menu": menu} if menu else {})}}


def _sent(part: Any, arrays: Arrays) -> Any:
    """A part of a Plotly figure, its numbers among ``arrays``."""
    match part:
        case Mapping():
            return {name: _sent(one, arrays) for name, one in part.items()}
        case np.ndarray() if part.dtype.kind in "biuf":
            return arrays.add(part.astype(np.float32), False)
        case np.ndarray() | list() | tuple():
            return [_sent(one, arrays) for one in part]
        case np.generic():
            return part.item()
        case _:
            return part
