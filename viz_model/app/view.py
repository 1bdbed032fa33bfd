"""What a visitor is looking at, and its address.

One frozen :class:`ViewState` holds the whole view. A URL is only ever parsed into it, value by value, and what it asks
for that does not exist becomes a default and a notice. Nothing from a URL is evaluated.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from viz_model.app.choices import Choice
from viz_model.config import ModelConfig, Side
from viz_model.lessons import answers
from viz_model.lessons.answers import Progress
from viz_model.runs import edits
from viz_model.runs.derivation import Cell
from viz_model.runs.edits import Edit
from viz_model.texts import ENGLISH, LANGUAGES

MAX_URL_TEXT = 2_000
"""Characters of text that a URL carries; servers and proxies refuse much longer addresses."""
PRESENT = "present"
"""What an address says of a view for a projector."""
TYPED = "text"
"""What an address says of a view whose control tokens are characters."""
TWIN = "twin"
"""What an address says of a view with the model's twin beside it."""
SIDES: tuple[Side, ...] = ("encoder", "decoder")

V = TypeVar("V")

_CELL = re.compile(r"([a-z0-9_.]{1,80}):(\d{1,9}(?:,\d{1,9}){0,3})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ViewState:
    """The view. Layers, heads and tokens count from 0; where they are None, the page shows the telling one.

    ``text`` None is the first example for the model, and so is ``drawing``, the picture for one that reads pictures,
    as an address writes it (:mod:`viz_model.images`). ``also`` is another text, beside which the first stands on a page
    that is one component; in a lesson, and beside a picture, there is none. ``twin`` is whether the same text in the
    model's twin stands there instead, of a model that has one. ``target`` is what the decoder of an
    encoder–decoder has said so far; None is what the model says by itself, ``to`` the language
    it is asked for, of a model that translates into several, None the first of them. ``as_text`` is whether control
    tokens that the text names are read as characters. ``side`` is
    the stack that is looked at, where there are two. ``edits`` are changes to the run.
    ``cell`` is the number whose derivation is open: of a value, or of a weight. ``present`` is whether a page
    shows its first picture alone, for a projector.
    ``lesson`` is how far one has come in a lesson, if this is a step of one.

    ``page`` is the page that is open, and ``choices`` what was chosen on it and on others, under
    ``page.choice``, as an address says it (:mod:`viz_model.app.choices`). The address of a page has its own.
    """

    model: str
    text: str | None = None
    also: str | None = None
    twin: bool = False
    drawing: str | None = None
    target: str | None = None
    to: str | None = None
    as_text: bool = False
    side: Side = "decoder"
    layer: int | None = None
    head: int | None = None
    token: int | None = None
    edits: tuple[Edit, ...] = ()
    cell: Cell | None = None
    lang: str = ENGLISH
    present: bool = False
    lesson: Progress | None = None
    page: str = ""
    choices: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}), hash=False)

    def chosen(self, page: str, choice: Choice[V]) -> V:
        """What is chosen on a page."""
        written = self.choices.get(f"{page}.{choice.name}")
        return choice.default if written is None else choice.read(written)

    def query(self) -> dict[str, str]:
        """The view as URL parameters; :func:`parse` is the inverse."""
        plain = {"model": self.model, "lang": self.lang}
        for name, place in (("layer", self.layer), ("head", self.head), ("token", self.token)):
            if place is not None:
                plain[name] = str(place)
        if self.text is not None:
            plain["text"] = self.text[:MAX_URL_TEXT]
        if self.also is not None and self.lesson is None and self.drawing is None:
            plain["also"] = self.also[:MAX_URL_TEXT]
        elif self.twin and self.lesson is None:
            plain["beside"] = TWIN
        if self.drawing is not None and len(self.drawing) <= MAX_URL_TEXT:
            plain["drawing"] = self.drawing
        if self.to is not None:
            plain["to"] = self.to
        if self.as_text:
            plain["typed"] = TYPED
        if self.target is not None:
            plain["target"] = self.target[:MAX_URL_TEXT]
        if self.side != "decoder":
            plain["side"] = self.side
        if self.edits:
            plain["edits"] = edits.write(self.edits)
        if self.cell is not None:
            plain["cell"] = f"{self.cell.site}:{','.join(map(str, self.cell.index))}"
        if self.present:
            plain["view"] = PRESENT
        if self.lesson is not None:
            plain |= self.lesson.query()
        prefix = f"{self.page}."
        return plain | {
            name.removeprefix(prefix): text for name, text in self.choices.items() if name.startswith(prefix)
        }

    def stack(self, config: ModelConfig) -> Side:
        """The stack of a model that is looked at: of a model with one stack, that one."""
        return self.side if self.side in config.sides else config.sides[-1]


@dataclass(frozen=True, kw_only=True)
class Shown(ViewState):
    """The view as a page shows it: with the layer and head that it has come to."""

    layer: int
    head: int


@dataclass(frozen=True)
class Notice:
    """Something the address asked for that is not there: a key of the texts, and its values; an error says why."""

    key: str
    values: Mapping[str, object]


def parse(
    query: Mapping[str, str],
    models: Sequence[str],
    configs: Mapping[str, ModelConfig],
    language: str,
    page: str = "",
    choices: Sequence[Choice[Any]] = (),
    opened_by: Mapping[str, Choice[bool]] = MappingProxyType({}),
) -> tuple[ViewState, list[Notice]]:
    """URL parameters -> the view they describe, and a notice for each that describes none.

    Args:
        page: the page that the address opens.
        choices: what can be chosen there.
        opened_by: a parameter, or a parameter and its value, and the door that is open where an address has it.
    """
    notices: list[Notice] = []
    model = query.get("model", models[0])
    if model not in models:
        notices.append(Notice("common.unknown_model", {"asked": model[:80], "shown": models[0]}))
        model = models[0]
    lang = query.get("lang", language)
    if lang not in LANGUAGES:
        notices.append(Notice("common.unknown_language", {"asked": lang[:80]}))
        lang = language
    config = configs[model]

    def index(name: str, size: int) -> int | None:
        if name not in query:
            return None
        asked = query[name]
        # isdecimal accepts other scripts' digits too, and int() reads them; length bounds the cost.
        if asked.isdecimal() and len(asked) < 10 and int(asked) < size:
            return int(asked)
        notices.append(Notice(f"common.unknown_{name}", {"asked": asked[:80], "last": size - 1}))
        return None

    side = query.get("side", "decoder")
    if side not in SIDES:
        notices.append(Notice("common.unknown_side", {"asked": side[:80]}))
        side = "decoder"
    shown: Side = "encoder" if side == "encoder" else "decoder"
    depth = config.depth(shown if shown in config.sides else config.sides[-1])
    asked = query.get("edits", "")
    try:
        changes = edits.parse(asked)  # whether the model has such places is seen when it runs
    except ValueError as wrong:
        notices.append(Notice("edits.unknown", {"why": wrong}))
        changes = ()
    cell: Cell | None = None
    if "cell" in query:
        if written := _CELL.fullmatch(query["cell"]):  # whether the run has it is for the derivation to say
            cell = Cell(written[1], tuple(map(int, written[2].split(","))))
        else:
            notices.append(Notice("derivation.unknown", {"asked": query["cell"][:80]}))
    try:
        lesson = answers.progress(query)
    except ValueError:
        notices.append(Notice("lesson.unknown", {"asked": query["lesson"][:80]}))
        lesson = None
    opened = opened_doors(query, opened_by)
    chosen = {f"{page}.{name}": door.write(True) for name, door in opened.items()}
    for choice in choices:
        if choice.name not in query:
            continue
        try:
            value = choice.read(query[choice.name])
        except ValueError:
            notices.append(Notice("common.unknown_beside", {"name": choice.name, "asked": query[choice.name][:80]}))
            continue
        chosen.pop(f"{page}.{choice.name}", None)
        if value != choice.default or choice.name in opened:
            chosen[f"{page}.{choice.name}"] = choice.write(value)
    for name, known in (("view", PRESENT), ("typed", TYPED), ("beside", TWIN)):
        if query.get(name, known) != known:
            notices.append(Notice("common.unknown_beside", {"name": name, "asked": query[name][:80]}))
    view = ViewState(
        model=model,
        text=query.get("text"),
        also=(query.get("also") or None) if lesson is None else None,
        twin=query.get("beside") == TWIN and not query.get("also") and lesson is None,
        drawing=query.get("drawing"),  # whether it is one is seen when it is read
        target=query.get("target"),
        as_text=query.get("typed") == TYPED,
        to=query.get("to"),  # whether the model translates into it is for its tokenizer to say
        side=shown,
        layer=index("layer", depth),
        head=index("head", config.n_heads),
        token=index("token", config.n_context),  # whether the sentence is that long is for the page to say
        edits=changes,
        cell=cell,
        lang=lang,
        present=query.get("view") == PRESENT and lesson is None,
        lesson=lesson,
        page=page,
        choices=MappingProxyType(chosen),
    )
    return view, notices


def opened_doors(asked: Mapping[str, str], opened_by: Mapping[str, Choice[bool]]) -> dict[str, Choice[bool]]:
    """The doors that an address opens, unless it says that they are closed."""
    split = ((name.partition("="), door) for name, door in opened_by.items())
    return {door.name: door for (name, _, value), door in split if name in asked and value in ("", asked[name])}
