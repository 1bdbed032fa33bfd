"""A Look: one run, where in it one looks, and the language spoken. All that a picture reads of a run, it reads here.

No picture puts together the name of a site, and none copies arrays into a tuple of its own: ``look.every(
"attn.pattern")`` is the pattern of every layer, ``look.once(make)`` what ``make`` computes of the run, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from viz_model.claims import Verdict
from viz_model.config import ModelConfig
from viz_model.drawing.cells import Cells
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among, By, Phrase, Table, by
from viz_model.island import held
from viz_model.island.held import BLOCK, MOST_TOKENS
from viz_model.island.prose import Line, What
from viz_model.measures import patches
from viz_model.measures.heads import Together, together
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

T = TypeVar("T")


class Other(NamedTuple):
    """Another model beside that of a run.

    Attributes:
        name: in the address.
        labels: by their names in the address all that can stand there, and what they are called.
        lm: the model itself.
        trace: the same text in it, seen from one stack; None where it cannot read it.
        refused: why it cannot.
        is_public: whether everybody can load it by that name.
    """

    name: str
    labels: Mapping[str, str]
    lm: LanguageModel
    trace: Trace | None
    refused: str = ""
    is_public: bool = True


SELECTING = frozenset(
    {"attention.question", "overview.question", "masked_token.question_visible", "norm_placement.question"}
    | {"position.alibi_question", "position.t5_question", "mistakes.question"}
)
"""Questions to find out by trying that take no more than selecting, and reading."""


@dataclass(frozen=True)
class Look:
    """One run and the layer, head and token that are selected in it.

    What a picture reads has an axis for layers and heads, and no place in it differs from the others: what is selected
    is for the browser to know, and for what is made for one selection, such as a file.

    Attributes:
        trace: seen from one stack (:meth:`viz_model.Trace.at`).
        topic: the group of texts.
        options: what is chosen on the page beside the selection, by name.
        layers: those that tables hold; all of them, or one (:func:`viz_model.island.held.one_layer`).
        other: the model that stands beside, on a page that compares two.
        twin: the run of the same text in the model's twin, on a page that compares the two.
        others: the run of a bundled model on a text, None where it is not offered; "" is the own model, and its first
            example.
        unedited: a look at the run without a visitor's interventions, where it has any.
        turn: within which a run of the model is made, so that others can be made in between.
        lm: the model as it was loaded, where that is known: its folder, the name of its twin.
    """

    trace: Trace
    t: Texts
    topic: str
    layer: int = 0
    head: int = 0
    token: int = -1
    options: Mapping[str, Any] = field(default_factory=dict)
    layers: range = range(0)
    twin: Trace | None = None
    other: Other | None = None
    others: Callable[[str, str], Trace | None] = lambda model, text: None
    unedited: Look | None = None
    turn: Callable[[], AbstractContextManager[Any]] = nullcontext
    lm: LanguageModel | None = None
    _read: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def at(
        cls, trace: Trace, t: Texts, topic: str, *, layer: int = 0, head: int = 0, token: int = -1, one: bool = False
    ) -> Look:
        """A look at a run.

        Args:
            token: counted from the end where it is negative.
            one: whether only this selection is asked for, as for a file.
        """
        layers = range(layer, layer + 1) if one or held.one_layer(trace) else range(trace.n_layers)
        return cls(trace, t, topic, layer, head, token % len(trace), {}, layers)

    @property
    def narrow(self) -> Look:
        """The same with tables of the selected layer alone: for what is too much of all layers together."""
        if len(self.layers) == 1:
            return self
        read: dict[Any, Any] = self.once(lambda _: {}, ("narrow", self.layer))
        return replace(self, layers=range(self.layer, self.layer + 1), _read=read)

    @property
    def wide(self) -> Look:
        """The same with tables of all layers, also of a run that is rather long: for what is little of each layer."""
        if len(self.layers) == self.n_layers or not self.once(lambda look: held.is_rather_long(look.trace), "rather"):
            return self
        read: dict[Any, Any] = self.once(lambda _: {}, "wide")
        return replace(self, layers=range(self.n_layers), _read=read)

    @property
    def late(self) -> Look:
        """:attr:`wide` once another layer was asked for in the app: for what is much of all layers, and few look at."""
        return self.wide if not self.is_saved and len(self.wide.once(lambda _: set(), "asked of")) > 1 else self

    def of_layer(self, layer: int) -> Look:
        """The same with tables of one layer; what was read of all layers together stays read."""
        self.wide.once(lambda _: set[int](), "asked of").add(layer)
        return replace(self, layer=layer, layers=range(layer, layer + 1), _read={"wide": self.wide._read})

    def of(self, topic: str) -> Look:
        """The same with the texts of another topic; what was read stays read."""
        return replace(self, topic=topic)

    # The run.

    @property
    def config(self) -> ModelConfig:
        return self.trace.config

    @property
    def here(self) -> ModelConfig:
        """The same with the sizes of the selected layer: how wide its heads are, and how many have own keys."""
        return self.config.of_layer(self.trace.stack.side, self.layer)

    @property
    def plain(self) -> Look:
        """The same at the run as the model makes it, without interventions; what was read there stays read."""
        return self if self.unedited is None else replace(self, trace=self.unedited.trace, _read=self.unedited._read)

    @property
    def n_layers(self) -> int:
        return self.trace.n_layers

    @property
    def n_heads(self) -> int:
        return self.trace.config.n_heads

    def __len__(self) -> int:
        return len(self.trace)

    @property
    def is_saved(self) -> bool:
        """Whether it is for a file, which answers without the app."""
        return "saved" in self.options

    @property
    def sizes(self) -> dict[str, int]:
        return {"layer": self.n_layers, "head": self.n_heads, "token": len(self)}

    @property
    def place(self) -> dict[str, int]:
        numbers = {name: int(said) for name, said in self.options.items() if said.isdecimal()}
        return {**numbers, "layer": self.layer, "head": self.head, "token": self.token}

    def site(self, name: str, layer: int | None = None) -> str:
        """The name of a block's value: ``site("attn.q", 0)`` is ``blocks.0.attn.q``; without ``layer`` the selected.

        A value of no block keeps its name.
        """
        return name if name in self.trace else f"blocks.{self.layer if layer is None else layer}.{name}"

    def has(self, name: str) -> bool:
        """Whether blocks make a value of that name."""
        return self.site(name) in self.trace

    def every(self, name: str) -> np.ndarray:
        """A value of every layer that is held: float32 [L, …]."""
        return self.once(
            lambda look: np.stack([look.trace[look.site(name, layer)].numpy() for layer in look.layers]), name
        )

    def of_heads(self, name: str) -> np.ndarray:
        """The same of a value with heads, [L, H, …]: keys and values that heads share are repeated for each."""
        found = self.every(name)
        times = self.n_heads // found.shape[1]
        return self.once(lambda _: found.repeat(times, axis=1), f"heads {name}") if times > 1 else found

    @property
    def visible(self) -> np.ndarray:
        """Which keys each query sees: boolean [L, T, T]."""
        return self.once(lambda look: np.stack([look.trace.mask(layer).numpy() for layer in look.layers]), "visible")

    def heads(self, layer: int, pool: int) -> Together:
        """All heads of a layer, which the maps beside a page read as its pictures do."""
        return self.once(lambda look: together(look.trace, layer, pool), ("heads", layer, pool))

    def once(self, make: Callable[[Look], T], name: Any = None) -> T:
        """``make(look)``, made once for the run."""
        key = make if name is None else name
        if key not in self._read:
            self._read[key] = make(self)
        found: T = self._read[key]
        return found

    def latest(self, name: str, key: Any, make: Callable[[], T]) -> T:
        """What was made for a key; of all that were asked for by a name the last one is kept, and all for a file."""
        kept: dict[Any, T] = self.once(lambda _: {}, name)
        if key not in kept:
            made = make()
            if not self.is_saved:
                kept.clear()
            kept[key] = made
        return kept[key]

    # Tables.

    def by(self, axes: str, values: Any, write: str = "", **fixed: Any) -> Any:
        """A table (:class:`viz_model.drawing.tables.By`) of values that were read here: of layers it has those that
        are held, and of tokens those around the selected one where there are many; of one token alone the selected.
        """
        names, start = tuple(axes.split()), {}
        if "layer" in names and len(self.layers) < self.n_layers:
            start["layer"] = self.layers.start
        if "token" in names and "token" not in fixed and isinstance(values, np.ndarray):
            n = names.index("token")
            if values.shape[n] == 1 < len(self):
                start["token"] = self.token
            elif len(self) > MOST_TOKENS:
                first = self.token // BLOCK * BLOCK
                start["token"] = first
                values = values[(slice(None),) * n + (slice(first, first + BLOCK),)]
        return By(names, values, fixed, start, write)

    @property
    def layer_number(self) -> Any:
        return by("layer", np.arange(self.n_layers), "whole")

    @property
    def head_number(self) -> Any:
        return by("head", np.arange(self.n_heads), "whole")

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the tokens, as pictures have them; of a picture's patches their places."""
        return tuple(token.label for token in self.trace.tokens)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tokens for prose; a patch is named by its place in the picture."""
        if self.trace.shows_patches:
            return tuple(patches.names(self.trace, self.t))
        return tuple(token.label for token in self.trace.tokens)

    def token_named(self, at: Any = None) -> Any:
        """The name of a token for prose, as code: ``at`` is a table of positions, by default of the selected one."""
        where = by("token", np.arange(len(self))) if at is None else at
        return Among(self.names, where, is_code=not self.trace.shows_patches)

    def cells(self, name: str, index: tuple[Any, ...], **lists: Any) -> Any:
        """Which numbers of a value a mark shows. In the index ``"head"`` and ``"token"`` follow the selection."""
        axes = {axis: by(axis, np.arange(size)) for axis, size in self.sizes.items()}
        where: Any = tuple(axes[part] if isinstance(part, str) and part in axes else part for part in index)
        return Cells(self.full(name), where, **lists)

    def full(self, name: str) -> Any:
        """The full name of a block's value in the selected layer, as a table."""
        return self._of_layer(self.trace.full_name(self.site(name, 0)))

    # Words.

    def words(self, key: str, /, **values: Any) -> Any:
        """A label of the topic with its places filled; where a value is a table, so is the label."""
        return self._filled(self.t(self._key(key), **_kept(values)), values)

    def common(self, key: str, /, **values: Any) -> Any:
        """A label of the app."""
        return self._filled(self.t(f"common.{key}", **_kept(values)), values)

    def text(self, key: str, /, **values: Any) -> Line:
        """A section of the topic's prose."""
        return Line(self._filled(self.t.prose(self._key(key), **_kept(values)), values))

    def to_try(self, key: str, /, **values: Any) -> Line:
        """A section of the topic's prose that has one find something out; without words where one cannot."""
        asked = f"**{self.common('try_it')}** {self.t.prose(self._key(key), **_kept(values))}"
        return Line(self._filled(asked, values) if self.can_try(key) else "")

    def answer(self, *keys: str, **values: Any) -> Line:
        """Sections of the topic's prose one after another, folded away: the answer to what is to be tried."""
        if not self.can_try(keys[0].replace("answer", "question")):
            return Line("", "answer")
        texts = [self.text(key, **values).words for key in keys]
        named = {f"text_{n}": text for n, text in enumerate(texts) if isinstance(text, Phrase)}
        whole = (f"{{{{text_{n}}}}}" if f"text_{n}" in named else text for n, text in enumerate(texts))
        return Line(self._filled("\n\n".join(whole), named), "answer")

    def can_try(self, question: str) -> bool:
        """Whether what a question asks for can be done here: nothing is typed, drawn or trained in a file."""
        return not self.is_saved or (self._key(question) in SELECTING and not self.config.reads_pictures)

    def title(self, key: str, /, **values: Any) -> Line:
        """A label of the topic as the title of a section."""
        return Line(self.words(key, **values), "title")

    def part(self, key: str, /, **values: Any) -> Line:
        """A label of the topic as the title of a part."""
        return Line(self.words(key, **values), "part")

    def note(self, key: str, /, **values: Any) -> Line:
        """A label of the topic in small letters."""
        return Line(self.words(key, **values), "note")

    def only_here(self, scene: Scene, *, layer: bool = True, head: bool = False, token: bool = False) -> Scene:
        """A scene of the selected ``layer`` alone, or ``head``, or ``token``: for another it is asked for."""
        held_at = {"layer": layer, "head": head, "token": token}
        start = {name: self.place[name] for name, is_held in held_at.items() if is_held}
        values: Any = True
        for _ in start:
            values = [values]
        held: Any = By(tuple(start), values, start=start)
        return replace(scene, panels=[replace(panel, present=held) for panel in scene.panels])

    def drawn(self, scene: Scene, sites: Iterable[str] = (), **more: Any) -> Scene:
        """A scene with what is known of it beside its marks; ``sites`` are values of blocks, or others."""
        return replace(scene, sites=tuple(map(self.site, sites)), **more)

    def source(self, *names: str) -> Line:
        """Under a picture: which of a block's values it shows; for who asks, their names in code and their shapes."""
        labels = [self.t.site_label(self.trace.site(self.site(name))) for name in names]
        sizes = [" × ".join(map(str, self.trace.shape(self.site(name)))) for name in names]
        code = " · ".join(
            f"{self.trace.full_name(self.site(name, 0))} [{size}]" for name, size in zip(names, sizes, strict=True)
        )
        return Line(" · ".join(labels), "note", help=self._of_layer(code))

    def _of_layer(self, text: str) -> Any:
        """A text that names block 0, for any layer."""
        return Phrase(text.replace("blocks.0.", "blocks.{{layer}}."), {"layer": self.layer_number})

    def formulas(self, *names: str) -> Line:
        """The formulas of values of the selected block."""
        sites = [self.trace.site(self.site(name)) for name in names]
        rows = [f"| **{self.t.site_label(site)}** | $\\displaystyle {site.formula}$ |" for site in sites]
        head = " | ".join(self.common(f"formula_{column}") for column in ("value", "formula"))
        return Line("\n".join([f"| {head} |", "|:-|:-|", *rows]))

    def kind(self, prefix: str, name: str) -> str:
        """The key of a text on one of several kinds, or where that has none of its own, ``prefix_other``."""
        return f"{prefix}_{name}" if self.knows(f"{prefix}_{name}") else f"{prefix}_other"

    def claim(
        self,
        verdict: Verdict[Any],
        values: Any,
        axes: str,
        what: What = "text",
        fixed: Mapping[str, Any] | None = None,
        /,
        **filled: Any,
    ) -> Line:
        """What may be said of some values: a table of sentences. ``values`` are arrays, as the predicates take them;
        ``fixed`` is as in :meth:`claim_label`.
        """
        return Line(self._claimed(verdict, values, axes, filled, False, fixed), what)

    def claim_label(
        self, verdict: Verdict[Any], values: Any, axes: str, fixed: Mapping[str, Any] | None = None, /, **filled: Any
    ) -> Any:
        """The same in a word or two; ``fixed`` says of which entry, where that does not follow the selection."""
        return self._claimed(verdict, values, axes, filled, True, fixed)

    def _claimed(
        self,
        verdict: Verdict[Any],
        values: Any,
        axes: str,
        filled: Mapping[str, Any],
        is_label: bool,
        fixed: Mapping[str, Any] | None = None,
    ) -> Phrase:
        language, kept = self.t.language, _kept(filled)
        held, which = np.unique(verdict.table(values), return_inverse=True)  # what holds nowhere may lack what it tells
        said = [verdict.every[n] for n in held]
        texts = [(one.label if is_label else one.says)(language, **kept) for one in said]
        where = which.reshape(verdict.table(values).shape)
        made = Among(texts, self.by(axes, where, "", **(fixed or {}))) if axes or where.ndim else texts[0]
        return Phrase(made, _tables(filled))

    def knows(self, key: str) -> bool:
        """Whether the topic has such a label or section."""
        return key in self.t.labels(self.topic) or key in self.t.sections(self.topic)

    def listed(self, items: Iterable[str]) -> str:
        """Several things one after another, as the language writes it."""
        return self.t("models.comma").join(items)

    def _key(self, key: str) -> str:
        return key if "." in key else f"{self.topic}.{key}"

    def _filled(self, template: str, values: Mapping[str, Any]) -> Any:
        """A template with its tables. A phrase within it becomes a part of it, so that its names stay names."""
        tables, found = _tables(values), [template]
        choice: By | int | None = None
        for name, phrase in [(name, one) for name, one in tables.items() if isinstance(one, Phrase)]:
            own = phrase.template.names if isinstance(phrase.template, Among) else [phrase.template]
            if len(own) > 1 and choice is not None:
                continue  # one choice among texts is a table; of two each stays a value
            choice = phrase.template.at if isinstance(phrase.template, Among) else choice
            del tables[name]
            tables |= phrase.values
            found = [one.replace(f"{{{{{name}}}}}", text) for one in found for text in own]
        whole = found[0] if choice is None else Among(found, choice)
        return Phrase(whole, tables) if tables or choice is not None else template

    def call(self, name: str, /, *more: object, **places: object) -> str:
        """A call of :mod:`viz_model.plot` for this stack, in this language; ``more`` stand beside the run."""
        stack = {} if self.trace.stack.side == self.config.sides[-1] else {"stack": self.trace.stack.side}
        lang = {} if self.t.language == "en" else {"lang": self.t.language}
        named = (f"{word}={value!r}" for word, value in {**places, **stack, **lang}.items())
        return f"{name}({', '.join(['trace', *map(repr, more), *named])})"

    def code_name(self, position: int) -> str:
        """The name of one token for Markdown, to the letter."""
        return self.names[position] if self.trace.shows_patches else literal(self.names[position])


def _tables(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, Table)}


def _kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """What fills a text now; places that tables fill stay open."""
    return {name: f"{{{{{name}}}}}" if isinstance(value, Table) else value for name, value in values.items()}
