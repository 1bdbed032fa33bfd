"""Ten questions that people ask of language models, each answered on one screen, on the visitor's own sentence."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Chooser, Item, Offer, Page, Topic, columns
from viz_model.island.prose import Line
from viz_model.island.tabs import Table, Tabs, Worked
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.questions.measured import QUESTIONS, Measured, Question

ASK, MOVE = "ask", "move"
MOST_STEPS = max(len(question.steps) for question in QUESTIONS)
ROLES = {
    **dict.fromkeys(("given", "bits", "as_it_is", "trained"), "output"),
    **dict.fromkeys(("shuffled", "untrained"), "residual"),
    **dict.fromkeys(("heads", "attention"), "pattern"),
    **dict.fromkeys(("same", "rest"), "ffn"),
    **{"letters": "embedding", "english": "query", "chinese": "key"},
}


OF_WORDS = ("letters", "chinese")
"""Questions to a model that reads words, and no bare ids."""


def possible(look: Look) -> list[Question]:
    """The questions that the model can be asked."""
    reads_words = not isinstance(look.trace.tokenizer, IdTokenizer)
    return [one for one in QUESTIONS if reads_words or one.name not in OF_WORDS]


def asked(look: Look) -> Question:
    """The question that is chosen."""
    return next((one for one in possible(look) if one.name == look.options.get(ASK)), QUESTIONS[0])


def _step(look: Look) -> int:
    question, said = asked(look), str(look.options.get(MOVE) or "")
    return int(said) if said.isdecimal() and int(said) < len(question.steps) else question.usual


def measured_for(look: Look) -> Measured:
    """What is measured for the question, at the step and the token that are chosen."""
    question, step = asked(look), _step(look)
    return look.once(lambda look: question.measure(look, step), (question.name, step, look.token))


def choose(look: Look) -> Chooser:
    options: dict[str, str] = {one.name: look.words(f"ask_{one.name}") for one in possible(look)}
    return Chooser(ASK, options, "", "", QUESTIONS[0].name, asks=True, anew=(MOVE,))


def move(look: Look) -> Chooser | None:
    """The one thing to move; None where it is the token."""
    question = asked(look)
    if not question.steps:
        return None
    options: dict[str, str] = {
        str(n): look.words(f"move_{question.name}_step", step=f"{step:,}" if isinstance(step, int) else f"{step:g}")
        for n, step in enumerate(question.steps)
    }
    label = look.words(f"move_{question.name}")
    return Chooser(MOVE, options, label, "", str(question.usual), asks=True, is_scale=True)


def move_token(look: Look) -> Iterator[Line]:
    if not asked(look).steps:
        yield look.note("move_token")


def draw(look: Look) -> Scene:
    """What was measured, a bar a row."""
    question, found = asked(look), measured_for(look)
    several, told = len(found.series) > 1, "{{name}} {{value}}"
    names = [str(look.words(f"series_{name}")) if several else "" for name in found.series]
    series = [
        chart.Bars(named, np.array(values), ROLES[name], told, found.write, hatched=several and n == 0)
        for n, (named, (name, values)) in enumerate(zip(names, found.series.items(), strict=True))
    ]
    write = "%0" if found.write.startswith("%") else "whole" if found.write == "whole" else "1"
    first = next(iter(found.series))
    scale = chart.axis(*(one.values for one in series), title=look.words(f"axis_{first}"), write=write, room=0.12)
    scene = chart.bars(
        f"questions.{question.name}", look.words(f"alt_{question.name}"), found.names, series, scale, row=24
    )
    return look.drawn(look.only_here(scene, layer=False, token=True), data=found)


def answer(look: Look) -> Iterator[Line]:
    if len(look) < 2:
        yield Line(look.words("one_token"), "notice")
    found = measured_for(look)
    yield look.text(f"{asked(look).name}{found.of}", **found.facts)


def leads(n: int) -> Item:
    """An item: the n-th page where more of it is to be seen."""

    def offer(look: Look) -> Offer | None:
        pages = asked(look).pages
        if n >= len(pages):
            return None
        said: Any = look.text(f"more_{pages[n]}")
        return Offer(said, look.common(f"page_{pages[n]}"), {"page": pages[n]})

    return offer


def formulas(look: Look) -> list[str]:
    """Of what every question comes down to: the next token's probabilities."""
    return [name for name in ("logits", "probs") if name in look.trace]


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """The logit of the most probable token."""
    (best, _), *_ = look.trace.next_tokens(look.token, 1)
    said = look.text("hand", token=look.code_name(look.token), best=literal(best.label))
    return said, [Worked((), "logits", (look.token, best.id))], {}


def numbers(look: Look) -> Table:
    """The ten most probable tokens after each of the last ones."""
    probs = look.trace["probs"][-10:]
    best = probs[-1].topk(10).indices
    names = [look.trace.tokenizer.token(int(id)).label for id in best]
    return "probs", probs[:, best].numpy(), look.labels[-10:], names


TABS = Tabs(formulas, hand, lambda look: ("probs", "logits"), numbers)
PAGE = Page(
    "questions",
    (
        say.text("lead"),
        choose,
        columns((move, move_token, draw), (answer, leads(0), leads(1))),
    ),
    end=(say.to_try(),),
    tabs=TABS,
    options=((ASK, tuple(one.name for one in QUESTIONS)), (MOVE, ("", *map(str, range(MOST_STEPS))))),
    fits=lambda config: config.writes,
    reads_plain=True,
)
TOPIC = Topic(
    "questions",
    (PAGE,),
    has_place=False,
    needs=PAGE.fits,
    sums_heads=True,
    without=frozenset({"layer", "head"}),
)
