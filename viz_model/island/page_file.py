"""A page as one HTML file that works from disk: all that a visitor can select is in it, and nothing is fetched.

What a picture or a sentence shows is a table over layers, heads and tokens, and so is in the page's message already.
What the app makes anew when it is asked (another option, the one layer of a picture that holds one) is made for every
answer that there is, a part of the page at a time: a part is asked again only for what it read. Equal parts are
written once. ``frontend/src/pages.js`` puts the page together in the browser, in the place of the server.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Side
from viz_model.drawing.scene import Arrays, framed, html
from viz_model.island import glossary, local_model, message, prose, ribbons
from viz_model.island.beats import Chapter, Story, Toy
from viz_model.island.edited import describe
from viz_model.island.held import BLOCK, MOST_TOKENS, one_layer
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Field, Item, Made, Offer, Page, Row, Section, Topic, flat, is_there
from viz_model.island.prose import Line, line
from viz_model.runs.language_model import LanguageModel
from viz_model.texts import LANGUAGES
from viz_model.texts.markdown import literal

MOST_BYTES, MOST_WITH_WEIGHTS = 3_000_000, 14_000_000
"""Of a file without weights; where all layers are more, it holds one and says so. And of one with weights."""
MOST_OPTIONS, MOST_CASES, MOST_PLACES = 24, 80, 1500
"""Options of a chooser that are all kept; cases of one part of a page with them, and without."""

AXES = ("layer", "head", "token")


@dataclass(frozen=True)
class Opening:
    """What a file shows first.

    Attributes:
        looks: at the run, by language and stack; each with the layer, head, token and options that are selected.
        language, side: which of them is first.
        opened: sections that are open.
        chosen: which of layer, head and token somebody chose.
        writes: whether the weights are wanted in the file, where there is something to be written with them.
    """

    looks: Mapping[str, Mapping[Side, Look]]
    language: str
    side: Side
    opened: Sequence[str] = ()
    chosen: Sequence[str] = ()
    writes: bool = False

    @property
    def look(self) -> Look:
        return self.looks[self.language][self.side]


def written(topic: Topic, page: Page, opening: Opening) -> str:
    """The file as text."""
    page = page.seen(opening.look)
    lm = opening.look.lm
    if opening.writes and topic.is_story and lm is not None and local_model.runs(lm):
        wholes = (True, False) if _alike(opening.look) else (False,)
        tries = (_written(topic, page, opening, is_whole=one, lm=lm) for one in wholes)
        if found := next((file for file in tries if len(file) <= MOST_WITH_WEIGHTS), ""):
            return found
    whole = _written(topic, page, opening, is_whole=True) if _fits(page, opening.look) else ""
    return whole if 0 < len(whole) <= MOST_BYTES else _written(topic, page, opening, is_whole=False)


def _alike(look: Look) -> bool:
    """Whether all layers attend, or none: where some hold a state, what is drawn of one is not there of another."""
    return len({look.site("attn.pattern", layer) in look.trace for layer in range(look.n_layers)}) < 2


def _fits(page: Page, look: Look) -> bool:
    """Whether all layers are worth the attempt: where a message holds one of them, that one times as many."""
    if not (_alike(look) and one_layer(look.trace)):
        return _alike(look)
    arrays = Arrays()
    message.message(page, look, arrays, [section.name for section in page.sections])
    return sum(map(len, arrays.parts)) * look.n_layers * math.ceil(len(look) / MOST_TOKENS) < 4 * MOST_BYTES


def _written(topic: Topic, page: Page, opening: Opening, *, is_whole: bool, lm: LanguageModel | None = None) -> str:
    arrays, pool = Arrays(), _Pool()
    looks = {
        language: {side: _saved(one, lm is not None, language == opening.language) for side, one in sides.items()}
        for language, sides in opening.looks.items()
    }
    look = (opening := replace(opening, looks=looks)).look
    known = {side: _Known(page, one, _held(one, is_whole)) for side, one in looks[opening.language].items()}
    pages = {
        language: {
            side: pool.put(_page(topic, page, one, known[side], opening, arrays, is_whole))
            for side, one in sides.items()
        }
        for language, sides in opening.looks.items()
    }
    first = {
        "lang": opening.language,
        "side": opening.side,
        "place": {axis: look.place[axis] for axis in opening.chosen},
        "open": list(opening.opened),
    }
    model = None if lm is None else local_model.sent(lm, arrays)
    data = framed({"kind": "pages", "pages": pages, "first": first, "pool": pool.parts, "model": model}, arrays)
    read = look.trace.target if look.config.reads_pictures else look.trace.text  # of a picture there are no words
    title = f"{topic.heading(page, look.t)} · {read or look.trace.name}"
    has_plots = any(isinstance(part, dict) and part.get("kind") == "plot" for part in pool.parts)
    return html.page(title, opening.language, data, plots=has_plots)


def _saved(look: Look, writes: bool, is_first: bool) -> Look:
    """A look for a file: its parts are told so, and where it is. What no model writes in it itself is recorded once."""
    how = {"weights": "1"} if writes else {"recorded": "1"} if is_first else {}
    return replace(look, options={**look.options, "saved": f"{look.layer}.{look.head}", **how})


class _Pool:
    """Plain data as JSON, of which long parts stand there once: ``{"same": n}`` is part n, which may have such too."""

    LONG = 100

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    @property
    def parts(self) -> list[Any]:
        return list(map(json.loads, self._known))

    def put(self, value: Any) -> Any:
        """What stands for a value."""
        return json.loads(self._json(value))

    def _json(self, value: Any) -> str:
        match value:
            case Mapping():
                text = "{" + ",".join(f"{json.dumps(str(key))}:{self._json(one)}" for key, one in value.items()) + "}"
            case list() | tuple():
                text = "[" + ",".join(map(self._json, value)) + "]"
            case np.generic():
                return json.dumps(value.item())
            case _:
                return json.dumps(value, ensure_ascii=False)
        if len(text) < self.LONG:
            return text
        return f'{{"same":{self._known.setdefault(text, len(self._known))}}}'


# One page


def _page(
    topic: Topic, page: Page, look: Look, known: "_Known", opening: Opening, arrays: Arrays, is_whole: bool
) -> dict[str, Any]:
    """The header of a page, with all cases of its parts."""
    held, choices = _held(look, is_whole), known.choices
    writer = _Writer(look, arrays, page, known, held)
    items, end = ([made for part in parts for made in writer.items([part])] for parts in (page.items, page.end))
    trace, t = look.trace, look.t
    notes = [] if is_whole else [line(t("saving.page_part", layer=look.layer, n=look.n_layers), "note")]
    holds = {"layer": [0, look.n_layers] if is_whole else [look.layer, look.layer + 1], "token": _tokens(look)}
    if len(look) > MOST_TOKENS:
        first, stop = holds["token"]
        notes.append(line(t("saving.page_tokens", first=first, last=stop - 1), "note"))
    if trace.edits and not page.reads_plain:
        changes = t("models.comma").join(describe(edit, t) for edit in trace.edits)
        notes.append(line(t("saving.edited", edits=changes), "notice"))
    header: dict[str, Any] = {
        **message.frame(t),
        "sizes": look.sizes,
        "sides": [look.sizes],
        "layers": [0, look.n_layers],
        "holds": holds,
        "usual": {axis: look.place[axis] for axis in AXES},
        "options": {"lang": t.language, "side": trace.stack.side}
        | {name: str(look.options.get(name, "")) for name in (*choices, *_STORYS) if name in look.options},
        "boxes": _boxes(look),
        "controls": [one.plain | {"refused": ""} for one in _controls(topic, look, opening, is_whole)],
        "ribbons": [] if topic.is_story else ribbons.ribbons(trace, None, look.token, t, arrays),
        "heading": topic.heading(page, t),
        "renews": False,
        "present": None,
        "terms": glossary.sent(t),
        "search": None,
        "notes": prose.lines(notes, arrays),
        "items": items,
        "end": [*end, {"kind": "prose", "lines": prose.lines([_made_with(look)], arrays)}],
    }
    return _alive(header, {*AXES, *choices, *_STORYS, "lang", "side"} - (set() if is_whole else {"layer"}))


_STORYS = ("chapter", "beat")
"""Where one is in a story: the browser's own."""


def _made_with(look: Look) -> Line:
    return line(look.t("saving.page_made", model=literal(look.trace.name or ""), version=version("viz-model")), "note")


def _boxes(look: Look) -> list[dict[str, Any]]:
    """The sentence, unless it is a picture, and what it is continued to; to be read."""
    source = None if look.config.reads_pictures else look.trace.text or ""
    texts = [("text", source, "sentence"), ("target", look.trace.target, "target")]
    return [
        {
            "name": name,
            "text": text,
            "label": look.t(f"common.{label}"),
            "fixed": True,
            "live": False,
            "examples": [],
        }
        for name, text, label in texts
        if text is not None
    ]


def _controls(topic: Topic, look: Look, opening: Opening, is_whole: bool) -> Iterator[Chooser]:
    """Layer and head as lists, the stack, and the language."""
    t = look.t
    for axis, count in (("layer", look.n_layers), ("head", look.n_heads)):
        if count > 1 and axis not in topic.without and not topic.is_story and (is_whole or axis != "layer"):
            numbers = {str(n): str(n) for n in range(count)}
            yield Chooser(axis, numbers, t(f"common.{axis}"), is_list=True)
    sides = list(opening.looks[t.language])
    if len(sides) > 1:
        yield Chooser("side", {side: t(f"common.side_{side}") for side in sides}, t("common.side"), asks=True)
    if len(opening.looks) > 1:
        yield Chooser("lang", {name: LANGUAGES[name].name for name in opening.looks}, t("common.language"), asks=True)


# What a part of a page can be asked


class _Reads(NamedTuple):
    """What a part of a page depends on: options that it read, and those of layer, head and token that change it."""

    options: tuple[str, ...]
    axes: tuple[str, ...]


class _Known:
    """What each part of a page depends on, and the options of which a file holds all.

    Tables answer for every layer, head and token; what a part does not have as a table is seen by asking it for others.
    """

    def __init__(self, page: Page, look: Look, held: Mapping[str, Sequence[int]]) -> None:
        writer = _Writer(look, Arrays(), page, self, held)
        self._reads: dict[int, _Reads] = {}
        found = dict[str, list[str]]()
        for part in (*page.items, *page.end):
            if isinstance(part, Section) and not is_there(part, look):
                continue
            for item in flat([part]):
                options = _Options(look.options)
                shown = item(replace(look, options=options))
                if isinstance(shown, Chooser) and shown.asks and len(shown.every) <= MOST_OPTIONS:
                    now = str(look.options.get(shown.name, "")) or shown.usual or shown.every[0]
                    found.setdefault(shown.name, [now]).extend(shown.every)
                axes = tuple(writer.axes(item, look, shown))  # which goes through lines, and so has them read
                read = () if isinstance(shown, Chooser) else tuple(dict.fromkeys(options.read))
                self._reads[id(item)] = _Reads(read, axes)
        self.choices = self._few(found, held)

    def reads(self, item: Item) -> _Reads:
        return self._reads.get(id(item), _Reads((), ()))

    def _few(self, found: Mapping[str, list[str]], held: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
        """As many options as no part has too many cases with."""
        kept: dict[str, list[str]] = {}
        for name, options in found.items():
            every = list(dict.fromkeys(options))
            most = 1
            for read, axes in self._reads.values():
                if name in read:
                    others = (len(kept[one]) for one in read if one in kept)
                    most = max(most, math.prod(others) * math.prod(len(held[axis]) for axis in axes))
            if most * len(every) <= MOST_CASES:
                kept[name] = every
        return kept


def _held(look: Look, is_whole: bool) -> dict[str, Sequence[int]]:
    """The layers, heads and tokens for which a part may be asked: of many tokens those at the selected one."""
    layers, tokens = range(look.n_layers), range(len(look))
    return {
        "layer": layers if is_whole else [look.layer],
        "head": range(look.n_heads),
        "token": tokens if len(look) <= MOST_TOKENS else [look.token],
    }


def _tokens(look: Look) -> list[int]:
    """The first token that a file holds, and the one after the last: of many those of the selected one's block."""
    if len(look) <= MOST_TOKENS:
        return [0, len(look)]
    first = look.token // BLOCK * BLOCK
    return [first, min(first + BLOCK, len(look))]


class _Options(dict[str, Any]):
    """Options, and which of them were read."""

    read: list[str]

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.read = []

    def __getitem__(self, name: str) -> Any:
        self.read.append(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.append(name)
        return super().get(name, default)


class _Writer(message.Writer):
    """Writes each part of a page as a tree of cases: what was asked for, and what is shown then."""

    def __init__(
        self,
        look: Look,
        arrays: Arrays,
        page: Page,
        known: _Known,
        held: Mapping[str, Sequence[int]],
    ) -> None:
        usual = {name: str(values[0]) for name, values in page.options if not isinstance(values, range)}
        super().__init__(look, arrays, [section.name for section in page.sections], "", usual)
        self._known, self._held = known, held
        self._layers = {look.layer: look}

    def _item(self, item: Item | Row | Section, other: message.Writer | None) -> Iterable[dict[str, Any]]:
        if isinstance(item, Row | Section):
            return super()._item(item, other)
        return self._cases(item, self._look, frozenset(), 1)

    def _cases(self, item: Item, look: Look, done: frozenset[str], cases: int) -> list[dict[str, Any]]:
        """What an item is at a look; ``done`` are the axes that are answered already, ``cases`` how many there are."""
        read, axes = self._known.reads(item)
        for axis in (*(name for name in read if name in self._known.choices), *axes):
            every: Sequence[Any] = self._known.choices.get(axis) or self._held.get(axis, ())
            if axis in done or len(every) < 2 or cases * len(every) > MOST_PLACES:
                continue
            of = {
                str(one): self._cases(item, self._at(look, axis, one), done | {axis}, cases * len(every))
                for one in every
            }
            return [{"kind": "when", "axis": axis, "of": of}]
        shown = item(look)
        if isinstance(shown, Field | Offer):
            return []
        if isinstance(shown, Story):
            shown = shown._replace(ways=(), run="", chapters=list(map(_kept, shown.chapters)))
        made = self._made(shown)
        return [] if made is None else [made]

    def axes(self, item: Item, look: Look, shown: Made) -> Iterator[str]:
        """Which of layer, head and token a part has to be asked for: those with which it is another one."""
        if isinstance(shown, Field | Offer | Chooser) or shown is None:
            return
        if isinstance(shown, Story):
            yield from ("layer", "head")
            return
        now = self._made(shown)
        for axis, held in self._held.items():
            others = dict.fromkeys(n for n in (held[0], held[-1], held[len(held) // 2]) if n != look.place[axis])
            if any(self._made(item(self._at(look, axis, n))) != now for n in others):
                yield axis

    def _at(self, look: Look, axis: str, one: Any) -> Look:
        match axis:
            case "layer" if len(look.layers) < look.n_layers:
                if one not in self._layers:
                    self._layers[one] = self._look.of_layer(one)
                return replace(self._layers[one], options=look.options, head=look.head, token=look.token)
            case "layer":
                return replace(look, layer=one)
            case "head":
                return replace(look, head=one)
            case "token":
                return replace(look, token=one)
            case _:
                return replace(look, options={**look.options, axis: one})


def _kept(chapter: Chapter) -> Chapter:
    """A chapter without what leads to another page or model."""
    marks = [mark for mark in chapter.marks if not (isinstance(mark, Toy) and mark.toy == "twin")]
    return chapter._replace(opens=None, marks=marks)


def _alive(value: Any, axes: set[str], option: str = "") -> Any:
    """Plain data without what only a server answers: where a number comes from, and what selects anything but ``axes``;
    ``option`` is what a click in a picture chooses.
    """
    match value:
        case {"kind": "buttons", "buttons": [*buttons]}:
            kept = [one for one in buttons if one["options"] and set(one["options"]) <= axes and not one["press"]]
            return {**value, "buttons": _alive([one for one in kept if not one["words"] and not one["change"]], axes)}
        case {"kind": "scene"}:
            option = value.get("option", "")
            return {name: _alive(one, axes, option) for name, one in value.items()}
        case {"kind": "ribbon", "option": str(option)} if option and option not in axes:
            return {**value, "option": "", "many": False}
        case {"kind": "parts"}:
            return {**value, "links": False}
        case Mapping():
            left = {name for name in ("act", "picks") if name in value and not _answers(value[name], axes, option)}
            return {name: _alive(one, axes, option) for name, one in value.items() if name not in {"where", *left}}
        case list() | tuple():
            return [_alive(one, axes, option) for one in value if not _is_dead(one, axes)]
        case _:
            return value


def _is_dead(value: Any, axes: set[str]) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == "chooser" and value["asks"] and value["name"] not in axes


def _answers(act: Any, axes: set[str], option: str) -> bool:
    """Whether what a click selects or chooses is in the file."""
    match act:
        case {"select": Mapping() as wanted} | {"pick": Mapping() as wanted}:
            return set(wanted) <= axes
        case [Mapping() as wanted, *_] | {"among": _, "names": [Mapping() as wanted, *_]}:
            return set(wanted) <= axes
        case {"pick": _} | [*_]:
            return option in axes
        case Mapping() if option:
            return option in axes
        case _:
            return True
