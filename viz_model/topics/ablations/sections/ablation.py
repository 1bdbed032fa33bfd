"""An experiment: which one, its question with a guess and one press, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from viz_model.app import elements, state
from viz_model.app.page import Page
from viz_model.claims import Verdict
from viz_model.runs.edits import Edit
from viz_model.topics.ablations.choices import EXPERIMENT, GUESS
from viz_model.topics.ablations.claims import OUTCOMES
from viz_model.topics.ablations.sections import pieces, reading, routed, sentence, structure, trying
from viz_model.topics.ablations.sections.experiment import Experiment, Finding
from viz_model.topics.ablations.sections.lab import Lab

_ALL = (*structure.EXPERIMENTS, *pieces.EXPERIMENTS, routed.EXPERT, reading.ORDER, reading.CELL, sentence.SENTENCE)
_BY_NAME = {experiment.name: experiment for experiment in _ALL}
EXPERIMENTS: dict[str, Experiment] = {name: _BY_NAME[name] for name in OUTCOMES}
"""What a visitor can try, in the order in which the page offers it."""


@dataclass(frozen=True)
class Ablation:
    """The chosen experiment; ``tried`` is the view's change where it is the one that answers it."""

    lab: Lab
    experiment: Experiment
    tried: Edit | None

    @classmethod
    def of(cls, page: Page) -> Ablation:
        lab = Lab.of(page)
        tried, each = lab.tried, EXPERIMENTS.values()
        fitting = None if tried is None else next((other for other in each if other.fits(lab, tried)), None)
        first = next(other for other in each if other.name == "head" or other.lacks(lab) is None)
        name = page.chosen(EXPERIMENT)
        experiment = (fitting or first) if name is None else EXPERIMENTS[name]
        return cls(lab, experiment, tried if fitting is experiment else None)

    @property
    def verdict(self) -> Verdict[Any]:
        """What may come of it."""
        return OUTCOMES[self.experiment.name]

    @property
    def guess(self) -> str | None:
        """What the visitor expects, of what may come of it here."""
        guess = self.lab.page.chosen(GUESS)
        return guess if guess in self.guesses else None

    @property
    def guesses(self) -> list[str]:
        guesses = self.experiment.guesses
        return [claim.name for claim in self.verdict.claims] if guesses is None else list(guesses(self.lab))

    def guess_name(self, guess: str) -> str:
        return self.verdict.labels(self.lab.page.t.language)[guess]

    def finding(self) -> Finding | None:
        """What was found, once it was tried."""
        if self.tried is None or self.experiment.lacks(self.lab):
            return None
        return self.experiment.answer(self.lab, self.tried, self.lab.page.trace)


def section(ablation: Ablation) -> None:
    lab, page, experiment = ablation.lab, ablation.lab.page, ablation.experiment
    trying.choose(
        page,
        list(EXPERIMENTS),
        experiment.name,
        change=lambda name: state.choose(page.name, (EXPERIMENT, name), (GUESS, None)),
    )
    st.subheader(lab.words(f"title_{experiment.name}"), anchor=False)
    if lack := experiment.lacks(lab):
        st.info(lab.words(f"missing_{lack}"), icon=":material/info:")
        return
    if ablation.tried is None:
        experiment.controls(lab)
    left, right = st.columns(2, gap="large")
    with left:
        elements.told(page, partial(_ask, experiment), "question")
        _guess(ablation)
        is_pressed = trying.buttons(page, page.trace.edits, ablation.tried is not None)
    if is_pressed:
        _try(ablation)
    finding = ablation.finding()
    if finding is None:
        with right:
            experiment.before(lab)
        return
    with left:
        _answer(ablation, finding)
    with right:
        finding.draw()


def _ask(experiment: Experiment, page: Page) -> Iterator[str]:
    lab = Lab.of(page)
    if not experiment.lacks(lab):
        yield page.prose(f"question_{experiment.name}", **experiment.ask(lab))


def _guess(ablation: Ablation) -> None:
    look: dict[str, Any] = {"format_func": ablation.guess_name, "wrap": True, "help": None}
    elements.control(ablation.lab.page, GUESS, st.pills, ablation.guesses, write=lambda guess: ablation.guess, **look)


def _try(ablation: Ablation) -> None:
    edit = ablation.experiment.make(ablation.lab, ablation.guess)
    if edit is None:
        st.warning(ablation.lab.words("cannot"))
        return
    page = ablation.lab.page
    state.put(edits=(edit,), **state.choose(page.name, (EXPERIMENT, ablation.experiment.name)))
    st.rerun()


def _answer(ablation: Ablation, finding: Finding) -> None:
    lab, page = ablation.lab, ablation.lab.page
    if ablation.experiment.is_read:
        elements.told(page, partial(_tell, _verdict), "verdict")
        elements.told(page, partial(_tell, _says), "answer")
        return
    for said in _verdict(ablation, finding):
        st.markdown(said)
    if finding.waits is not None:
        key, n = finding.waits
        st.button(
            lab.words("measure", n=n), key="ablations.measure", icon=":material/timer:", on_click=lab.allow, args=(key,)
        )
    for said in _says(ablation, finding):
        st.markdown(said)


def _tell(tell: Callable[[Ablation, Finding], Iterator[str]], page: Page) -> Iterator[str]:
    ablation = Ablation.of(page)
    finding = ablation.finding()
    if finding is not None:
        yield from tell(ablation, finding)


def _verdict(ablation: Ablation, finding: Finding) -> Iterator[str]:
    """Whether the guess was right."""
    if finding.outcome is not None:
        right = finding.outcome.name
        verdict = "none" if ablation.guess is None else "right" if ablation.guess == right else "wrong"
        yield ablation.lab.words(f"verdict_{verdict}", right=ablation.guess_name(right))


def _says(ablation: Ablation, finding: Finding) -> Iterator[str]:
    """What was found, and why."""
    page = ablation.lab.page
    if finding.outcome is None:
        yield page.prose(finding.text, **finding.facts)
    else:
        yield finding.outcome.says(page.t.language, **finding.facts)
    yield page.prose(f"why_{ablation.experiment.name}", **finding.facts)
