"""What the sections of this page tell of: a text in the model's vocabulary, and in a second one."""

from __future__ import annotations

from typing import NamedTuple

import viz_model as vm
from viz_model.app.page import Page
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer
from viz_model.topics.tokens.choices import CL100K, VOCABULARY
from viz_model.topics.tokens.numbers import facts
from viz_model.topics.tokens.numbers import tokens as cutting
from viz_model.topics.tokens.sections.vocabularies import vocabularies, vocabulary


class Beside(NamedTuple):
    """A text in two vocabularies.

    Attributes:
        offered: the names of the vocabularies to choose the second from, by what the address calls them.
        chosen: one of them.
        other: the second vocabulary: ``cl100k_base`` where the chosen one cannot write the text, and then ``why``.
        facts: what is told of the selected token.
    """

    page: Page
    text: str
    offered: dict[str, str]
    chosen: str
    other: Tokenizer
    why: str
    facts: facts.Facts

    @classmethod
    def of(cls, page: Page) -> Beside:
        text, own, offered = cutting.written(page.trace).text, page.trace.tokenizer, {CL100K: CL100K}
        if not isinstance(own, IdTokenizer):
            offered |= {model: name for name, model in vocabularies().items() if name != own.name}
        chosen = page.chosen(VOCABULARY) if page.chosen(VOCABULARY) in offered else CL100K
        other, why = vocabulary(CL100K), ""
        try:
            found = vocabulary(chosen)
            found.encode(text)
            other = found
        except (vm.ModelError, vm.TextError) as error:
            why = f"{literal(offered[chosen])}: {page.t.error(error)}"
        return cls(page, text, offered, chosen, other, why, facts.facts(page.trace, other, page.token))

    @property
    def own(self) -> Tokenizer:
        return self.page.trace.tokenizer

    @property
    def names(self) -> dict[str, str]:
        """What the visitor typed, for texts."""
        return {name: literal(value) for name, value in self.facts.literals.items()}
