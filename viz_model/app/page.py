"""What a page is drawn from: the view, the run that it shows, and the texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import viz_model as vm
from viz_model.app import runs, state
from viz_model.app.choices import Choice
from viz_model.app.view import Shown
from viz_model.claims import Verdict
from viz_model.island.look import Look
from viz_model.texts import Texts
from viz_model.texts.markdown import literal

V = TypeVar("V")


@dataclass(frozen=True)
class Page:
    """An open page.

    Attributes:
        name: of the page, under which the view keeps what is chosen on it.
        text_key: the group of its texts, and the beginning of its widgets' keys.
        trace: the run seen from the stack that the visitor looks at (:meth:`viz_model.Trace.at`): on a page,
            an encoder–decoder is a model of one stack.
        token: the selected position, always one that the trace has.
        pages: all pages by name, for links.
        without: fields of the view that make no difference to the page.
    """

    name: str
    text_key: str
    view: Shown
    lm: vm.LanguageModel
    trace: vm.Trace
    t: Texts
    token: int
    pages: dict[str, Any]
    without: frozenset[str] = frozenset()

    @property
    def look(self) -> Look:
        """What its pictures are drawn from: of what is selected alone."""
        place = {"layer": self.view.layer, "head": self.view.head, "token": self.token}
        return Look.at(self.trace, self.t, self.text_key, one=True, **place)

    def at(self, site: str) -> str:
        """The full name of a block's site in the selected layer."""
        return f"blocks.{self.view.layer}.{site}"

    def words(self, key: str, /, **values: object) -> str:
        """A label of this page."""
        return self.t(f"{self.text_key}.{key}", **values)

    def prose(self, section: str, /, **values: object) -> str:
        """A section of this page's prose."""
        return self.t.prose(f"{self.text_key}.{section}", **values)

    def verdict(self, verdict: Verdict[V], values: V, /, **filled: object) -> str:
        """What may be said of some values of this run; "" where the verdict has no words for them."""
        return verdict.says(self.t.language, values, **filled)

    def listed(self, items: Iterable[str]) -> str:
        """Several things one after another, as the language writes it."""
        return self.t("models.comma").join(items)

    def chosen(self, choice: Choice[V]) -> V:
        """What the visitor has chosen on this page, by now."""
        return state.current().chosen(self.name, choice)

    @property
    def run_key(self) -> runs.RunKey:
        """The run that the page shows."""
        return runs.RunKey.of(self.view.model, self.trace)

    def token_name(self, position: int | None = None) -> str:
        """A token of this sentence for prose: literal, whatever the visitor typed."""
        return literal(self.trace.tokens[self.token if position is None else position].label)
