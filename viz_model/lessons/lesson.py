"""A lesson as it was read from its file; and what its texts may name, sizes of the model that is shown."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from viz_model.config import ModelConfig
from viz_model.lessons.questions import Question
from viz_model.lessons.reading import Reading
from viz_model.texts import fill

Words: TypeAlias = Mapping[str, str]
"""A text in every language."""

Control: TypeAlias = Literal["tokens", "heads", "edits", "sentence"]
CONTROLS: tuple[Control, ...] = get_args(Control)


@dataclass(frozen=True)
class View:
    """What a step shows: a page, and the query of its address."""

    page: str
    query: Mapping[str, str]


@dataclass(frozen=True)
class Printed:
    """Numbers of the run for paper: what they are, and how many digits they have behind the point."""

    label: Words
    reading: Reading
    digits: int = 2


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        view: in every language: the sentences differ, and so may what is looked at.
        controls: that the reader may use, in place of the lesson's.
        guess: whether the page opens only when the question has been answered.
        title, text, ask, hint: what is said; ``ask`` is of the question.
        then: said when the question has been answered; ``{{answer}}`` is the right one.
        line: of the file, in which the question says what it asks for; 0 without a question.
        paper: text, ask and hint as they stand on paper, where those of the screen speak of what only that has.
        numbers: of the run that are printed on paper, to calculate with.
    """

    view: Mapping[str, View]
    title: Words
    text: Words
    controls: tuple[Control, ...]
    guess: bool = False
    question: Question | None = None
    ask: Words | None = None
    hint: Words | None = None
    then: Words | None = None
    line: int = 0
    paper: Mapping[str, Words] = field(default_factory=dict)
    numbers: tuple[Printed, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        name: that of its file, and in addresses.
        digest: of the file, in hexadecimal digits: two results of one digest are of the same lesson.
        minutes: that it takes.
        model: that is shown where a view names none.
        sentence: that is run where a view has no text, in every language.
    """

    name: str
    digest: str
    minutes: int
    model: str
    title: Words
    about: Words
    sentence: Words
    steps: tuple[Step, ...]

    def view(self, step: int, on: str, language: str) -> View:
        """What a step shows of a sentence: page, and a query that names model and text.

        Args:
            on: a language, for the lesson's sentence in it, or a sentence of the reader's own.
            language: of what is said, whose view is taken for a sentence of the reader's own.
        """
        shown = self.steps[step].view[on if on in self.sentence else language]
        return View(shown.page, {"model": self.model, "text": self.sentence.get(on, on), **shown.query})

    @property
    def takes_sentences(self) -> bool:
        """Whether it may be run on a sentence of the reader's own."""
        return any("sentence" in step.controls for step in self.steps)


ANSWER = "answer"
"""The right answer, in what is said after it."""
NAMES = ("d_model", "n_heads", "d_head", "root", "d_ffn", "n_layers", "n_vocab")

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def facts(config: ModelConfig) -> dict[str, str]:
    """Of :data:`NAMES` each; ``root`` is that of the width of a head."""
    return {
        "d_model": f"{config.d_model}",
        "n_heads": f"{config.n_heads}",
        "d_head": f"{config.d_head}",
        "root": f"{math.sqrt(config.d_head):.2f}",
        "d_ffn": f"{config.d_ffn:,}",
        "n_layers": f"{config.depth(config.sides[-1])}",
        "n_vocab": f"{config.n_vocab:,}",
    }


def unknown(text: str, known: tuple[str, ...]) -> str | None:
    """The first placeholder of a text that is none of those known."""
    return next((name for name in _PLACEHOLDER.findall(text) if name not in known), None)


def said(text: str, config: ModelConfig, answer: str = "") -> str:
    """A text with its placeholders filled."""
    return fill(text, {**facts(config), ANSWER: answer})
