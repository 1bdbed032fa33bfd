"""The second vocabulary, beside the model's own: ``cl100k_base``, or that of another model that is there."""

import contextlib
import functools
from typing import NamedTuple

from viz_model.checkpoints import registry
from viz_model.checkpoints.weights import ModelError
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Typed
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import IdTokenizer, Tokenizer, cl100k_base
from viz_model.topics.tokens import cutting

CL100K = "cl100k_base"
"""The vocabulary that every other one can be held against."""
OPTION = ("vocabulary", Typed(CL100K, 120))
"""This one, or that of a model by the model's name."""


class Beside(NamedTuple):
    """A second vocabulary.

    Attributes:
        offered: the names of the vocabularies to choose it from, by what the address calls them.
        chosen: one of them.
        other: the vocabulary: ``cl100k_base`` where the chosen one cannot write the text, and then ``why``.
    """

    offered: dict[str, str]
    chosen: str
    other: Tokenizer
    why: str = ""

    @property
    def model(self) -> str:
        """The model that has it; "" where none is needed."""
        return "" if self.why or self.chosen == CL100K else self.chosen


@functools.cache
def vocabularies() -> dict[str, str]:
    """The vocabularies of the models that are there: of each one a model that has it, by what it is called."""
    found: dict[str, str] = {}
    for name in registry.models():
        with contextlib.suppress(ModelError):
            if not registry.config_of(name).reads_pictures:
                found.setdefault(registry.vocabulary_of(name), name)
    return found


@functools.lru_cache(maxsize=4)
def vocabulary(name: str) -> Tokenizer:
    """``cl100k_base``, or the tokenizer of a model, without its weights.

    Raises:
        ModelError: its files are damaged.
    """
    return cl100k_base() if name == CL100K else registry.tokenizer_of(name)


def has_text(look: Look) -> bool:
    """Whether the model cuts texts: where ids are typed, or a picture is drawn, there is nothing to be cut."""
    return not (isinstance(look.trace.tokenizer, IdTokenizer) or look.config.reads_pictures)


def text(look: Look) -> str:
    return cutting.written(look.trace).text


def of(look: Look) -> Beside:
    asked = look.options.get("vocabulary") or CL100K
    return look.once(lambda look: _made(look, asked), ("second", asked))


def _made(look: Look, asked: str) -> Beside:
    offered = {CL100K: CL100K}
    if has_text(look):
        own = look.trace.tokenizer.name
        offered |= {model: name for name, model in vocabularies().items() if name != own}
    chosen = asked if asked in offered else CL100K
    try:
        other = vocabulary(chosen)
        other.encode(text(look))
    except (ModelError, TextError) as error:
        return Beside(offered, chosen, cl100k_base(), f"{literal(offered[chosen])}: {look.t.error(error)}")
    return Beside(offered, chosen, other)


def choose(look: Look) -> Chooser | None:
    offered = of(look).offered
    if len(offered) < 2:
        return None
    return Chooser("vocabulary", offered, look.words("vocabulary"), look.words("vocabulary_help"), CL100K, asks=True)


def why(look: Look) -> list[Line]:
    return [Line(of(look).why, "notice")]
