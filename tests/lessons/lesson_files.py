"""Small lessons to be read, and a place to read them in."""

from collections.abc import Mapping
from pathlib import Path

from viz_model.app.lessons import shelf
from viz_model.lessons import keys
from viz_model.lessons.lesson import Lesson
from viz_model.lessons.questions import Key
from viz_model.lessons.read import read

OWN = Path(__file__).parent / "own" / "rabbit.toml"
"""A teacher's own, which the browsers play."""

TOP = """minutes = 20
model = "story-pre-ln"
title = "A title"
about = "What it is about"
sentence = { en = "The cat sat on the mat", zh = "从前，有一只小兔子" }
"""
STEP = """
[[step]]
view = "attention?layer=1&head=2"
title = "A step"
text = "What to look at in {{n_layers}} layers"
ask = "A question"
hint = "A hint"
then = "It is {{answer}}."
"""
NUMBER = """question.kind = "number"
question.value = "blocks.1.attn.pattern"
question.at = { head = 2, query = "last", key = "first" }
question.tolerance = 0.01
"""
GOOD = TOP + STEP + NUMBER


def lesson(text: str = GOOD, name: str = "mine") -> Lesson:
    return read(name, text, shelf.offer())


def asking(**lines: str) -> Lesson:
    """A lesson of one step with a question of these lines."""
    said: Mapping[str, str] = lines
    return lesson(TOP + STEP + "".join(f"question.{name} = {value}\n" for name, value in said.items()))


def own_keys(language: str) -> list[Key]:
    """The key of every step of the teacher's own."""
    own = lesson(OWN.read_text(encoding="utf-8"), OWN.stem)
    found = [keys.answer(own, n, language, language, shelf.run).key for n in range(len(own.steps))]
    return [key for key in found if key is not None]
