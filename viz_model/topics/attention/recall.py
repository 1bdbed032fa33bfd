"""Recall: a fact is said first, others follow, and the first is asked for. Until when does the model know it?"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import percent
from viz_model.drawing.plotted import axes, curve
from viz_model.drawing.theme import ROLES
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Field, Plot, Typed
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal

NAME, MOST = "facts", 500
OPTION = (NAME, Typed(most=MOST))
PRESETS = ("1", "2")
LARGEST = 12
"""Facts that are read, at the most."""
_SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]+")


class Recall(NamedTuple):
    """What a model says where a fact is asked for, with 0, 1 … N − 1 other facts since it was said.

    Attributes:
        asked: the first fact without what is asked for, and ``word`` the token that is.
        known: [N] the probability of that token.
        guessed: [N] the same where the fact was never said.
        says: [N] the token that the model says first.
    """

    asked: str
    word: str
    known: tuple[float, ...]
    guessed: tuple[float, ...]
    says: tuple[str, ...]

    @property
    def right(self) -> tuple[bool, ...]:
        return tuple(one == self.word for one in self.says)


RECALL: Verdict[Recall] = Verdict(
    "attention.recall",
    Claim("kept", lambda found: all(found.right)),
    Claim("lost", lambda found: found.right[0] and not any(found.right[1:])),
    Claim("later", lambda found: found.right[0] and not found.right[-1]),
    Claim("never", lambda found: not any(found.right)),
)
"""Of whether the token that is asked for is what the model says first."""


def facts_of(text: str) -> tuple[str, ...]:
    """The sentences of a text, each with its mark at the end."""
    return tuple(one.strip() for one in _SENTENCE.findall(text))[:LARGEST]


def text_of(look: Look) -> str:
    return look.options.get(NAME, "").strip() or look.words("recall_1")


def measured(look: Look) -> Recall | None:
    """None where a text has fewer than two facts, the first has one word, or all of it is too long for the model."""
    return look.once(lambda look: measure(look, text_of(look)), ("recall", text_of(look)))


def measure(look: Look, text: str) -> Recall | None:
    facts, tokenizer = facts_of(text), look.trace.tokenizer
    if len(facts) < 2:
        return None
    whole = facts[0].rstrip(".!?。！？ ")
    blank = " " if " " in whole else ""
    asked = whole.rpartition(" ")[0] if blank else whole[:-1]

    def ids(first: Sequence[str], end: str) -> list[int]:
        return list(tokenizer.encode(blank.join([*first, end])))

    alone, told = ids((), asked), ids((), whole)
    if not asked or told[: len(alone)] != alone or len(told) == len(alone):
        return None
    word, known, guessed, says = told[len(alone)], [], [], []
    for n in range(len(facts)):
        others = facts[1 : 1 + n]
        with_it, without = ids((facts[0], *others), asked), ids(others, asked)
        if len(with_it) > look.config.n_context:
            break
        probs, guess = (_next(look, one) for one in (with_it, without))
        known.append(float(probs[word]))
        guessed.append(float(guess[word]))
        says.append(str(tokenizer.token(int(probs.argmax())).label))
    if len(known) < 2:
        return None
    return Recall(asked, str(tokenizer.token(word).label), tuple(known), tuple(guessed), tuple(says))


@torch.inference_mode()
def _next(look: Look, ids: Sequence[int]) -> torch.Tensor:
    with look.turn():
        logits: torch.Tensor = look.trace.model(torch.tensor([list(ids)]))[0, -1]
    return logits.softmax(-1)


def presets(look: Look) -> Buttons:
    made = [Button(look.words(f"recall_name_{n}"), {NAME: look.words(f"recall_{n}")}) for n in PRESETS]
    return Buttons("recall", made)


def typed(look: Look) -> Field:
    return Field(NAME, look.words("recall_typed"), look.words("recall_help"), look.words("recall_1"), MOST)


def draw(look: Look) -> Plot | None:
    """The probability of the token that is asked for, by how many facts stand between; and where it was never said."""
    found = measured(look)
    if found is None:
        return None
    named = look.words("recall_between"), look.words("recall_probability", word=found.word)
    whole = {"tickformat": "d", "nticks": len(found.known) + 1}
    figure = axes(*named, 300, whole, tickformat=".0%", rangemode="tozero")
    for name, values, role, dash in (
        ("known", found.known, "value", "solid"), ("guessed", found.guessed, "residual", "dash")
    ):  # fmt: skip
        curve(figure, range(len(values)), values, look.words(f"recall_{name}"), ROLES[role], dash=dash, symbol="circle",
              written=percent)  # fmt: skip
    return Plot("attention.recall", figure, look.words("recall_alt", asked=found.asked), found)


def tell(look: Look) -> Iterator[Line]:
    found = measured(look)
    if found is None:
        yield Line(look.words("recall_other"), "notice")
        return
    n = len(found.known) - 1
    until = next((k for k, right in enumerate(found.right) if not right), n)
    said = RECALL.says(
        look.t.language, found, asked=literal(found.asked), word=literal(found.word), first=percent(found.known[0]),
        last=percent(found.known[-1]), guess=percent(found.guessed[-1]), n=n, until=until,
        says=literal(found.says[until]),
    )  # fmt: skip
    yield Line(said)
    yield look.note("recall_how")
