"""What a picture is of: a run, where in it, and the language in which it is labelled. There is no page in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from viz_model.measures import patches
from viz_model.runs.trace import Trace
from viz_model.texts import ENGLISH, Texts
from viz_model.texts.markdown import literal


class Code(str):
    """Python, as it stands in a call."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Subject:
    """A run and what is looked at in it.

    Attributes:
        trace: seen from one stack (:meth:`viz_model.Trace.at`).
        layer, head, token: of that stack, each one that it has.
        text_key: the group of texts that its pictures are labelled from.
    """

    trace: Trace
    layer: int
    head: int
    token: int
    t: Texts
    text_key: str

    def at(self, site: str) -> str:
        """The name of a block's site in the layer."""
        return f"blocks.{self.layer}.{site}"

    def words(self, key: str, /, **values: object) -> str:
        """A label of its group."""
        return self.t(f"{self.text_key}.{key}", **values)

    def listed(self, items: Iterable[str]) -> str:
        """Several things one after another, as the language writes it."""
        return self.t("models.comma").join(items)

    def kind(self, prefix: str, name: str) -> str:
        """The key of a text on one of several kinds, or where that has none of its own, ``prefix_other``."""
        key = f"{prefix}_{name}"
        is_known = key in self.t.labels(self.text_key) or key in self.t.sections(self.text_key)
        return key if is_known else f"{prefix}_other"

    def token_name(self, position: int | None = None) -> str:
        """A token of this run for prose: literal, whatever was typed; a patch by its place in the picture."""
        if self.trace.config.reads_pictures:
            return patches.name(self.trace.config, self.token if position is None else position, self.t)
        return literal(self.trace.tokens[self.token if position is None else position].label)

    @property
    def token_labels(self) -> tuple[str, ...]:
        if self.trace.config.reads_pictures:
            return tuple(token.label for token in self.trace.tokens)
        return tuple(place.label for place in self.trace.positions)

    def call(self, name: str, /, *more: object, **places: object) -> str:
        """A call of :mod:`viz_model.plot` for this stack, in this language; ``more`` stand beside the run."""
        stack = {} if self.trace.stack.side == self.trace.config.sides[-1] else {"stack": self.trace.stack.side}
        lang = {} if self.t.language == ENGLISH else {"lang": self.t.language}
        named = (f"{word}={value!r}" for word, value in {**places, **stack, **lang}.items())
        return f"{name}({', '.join(['trace', *map(repr, more), *named])})"
