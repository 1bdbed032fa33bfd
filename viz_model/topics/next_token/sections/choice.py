"""What the next and the covered token share: one distribution, what sampling keeps of it, one logit by hand.

Its texts are those of the page on the next token.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.runs.trace import Trace
from viz_model.topics.next_token.numbers.output import logit_scale, read_site, read_sites
from viz_model.topics.next_token.pictures import next_token
from viz_model.topics.next_token.pictures.next_token import ArrivalsView, ChoiceView


def facts(choice: ChoiceView) -> dict[str, str]:
    """For prose: the numbers of a choice, and its most probable token."""
    return {**choice.facts(), "top": literal(choice.tokens[0].label)}


def picture(
    stage: Stage, choice: ChoiceView, said: Mapping[str, str], alt: str, marked: str = "", *, own: bool = True
) -> None:
    """The first twenty tokens, and all of the probability in one bar; ``marked`` says what a marked token is.

    Without ``own`` the choice is of another run than the page's.
    """
    parts = ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")
    names = {part: stage.t(f"next_token.bar_{part}", **said) for part in parts} | {"marked": marked}
    stage.figure(next_token.draw_choice(choice, names), "choice", alt, own=own)
    stage.figure(next_token.draw_mass(choice, names), "mass", stage.t("next_token.mass_alt", **said))
    stage.source("logits", "probs")


def arrivals(stage: Stage, came: ArrivalsView, selected: int) -> None:
    """What was expected of every token, and the same as a table."""
    parts = ("probability", "bits", "rank", "guesses", *(("visible",) if came.visible is not None else ()))
    names = {part: stage.words(f"arrivals_{part}") for part in parts}
    stage.figure(next_token.draw_arrivals(came, names, selected), "arrivals", stage.words("arrivals_alt"))
    stage.see("arrivals", hardest=literal(came.labels[came.bits.argmax()]), **came.facts())
    with st.expander(stage.t("next_token.arrivals_table")):
        columns = {stage.t(f"next_token.column_{name}"): values for name, values in came.columns().items()}
        stage.records("arrivals", columns)


def formula(stage: Stage) -> None:
    """From the last vectors to probabilities, and what sampling makes of them."""
    stage.formula(*read_sites(stage.trace), "logits", "probs")
    st.markdown(stage.t.prose("next_token.formula"))


def hand(stage: Stage, trace: Trace, choice: ChoiceView, which: str) -> None:
    """One logit of ``trace`` and its softmax; ``which`` says what token it is, ``{{word}}`` being its name."""
    worked = next_token.by_hand(trace, choice)
    word = literal(next_token.hand_token(choice)[1].label)
    where = {"head.norm.out": "head", "final.norm.out": "norm"}.get(read_site(trace), "block")
    reads = stage.t(f"next_token.reads_{where}")
    multiplied = stage.t("next_token.reads_scaled", **worked) if logit_scale(trace) != 1 else ""
    intro = stage.words(which, word=word, token=stage.token_name())
    st.markdown(stage.t.prose("next_token.hand", intro=intro, reads=reads, multiplied=multiplied, **worked))


def numbers(stage: Stage, choice: ChoiceView, said: Mapping[str, str]) -> None:
    """The most probable tokens as a table."""
    columns = ("logit", "model", "before", "after")
    headings = [stage.t(f"next_token.number_{name}", n=len(choice.tokens), **said) for name in columns]
    stage.table(stage.text_key, choice.table(), [token.label for token in choice.tokens], headings, "choice")
