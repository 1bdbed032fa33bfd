"""What a model expects at a position, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Code, Subject
from viz_model.config import ModelConfig
from viz_model.runs.generation import Sampling
from viz_model.texts.markdown import literal
from viz_model.topics.next_token.pictures.choice import ChoiceView, draw_choice

USUAL = Sampling(top_p=0.9)
"""What the page, and a figure, begin with."""

SHARED = "next_token"
"""The group of the texts that all ways of asking share."""


def text_key(config: ModelConfig) -> str:
    """The group of texts, which names the snippet too."""
    if config.reads_pictures:
        return SHARED
    if config.classes:
        return "text_classes"
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else SHARED


def names(of: Subject, view: ChoiceView, *, covered: bool) -> dict[str, str]:
    """The words of the pictures of a choice."""
    facts = {**view.facts(), "top": literal(view.tokens[0].label), "token": of.token_name()}
    parts = ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")
    found = {part: of.t(f"{SHARED}.bar_{part}", **facts) for part in parts}
    return found | ({"marked": of.words("true_token")} if covered else {})


def choice(of: Subject, view: ChoiceView, sampling: Sampling, *, covered: bool = False) -> Drawn:
    """The first twenty tokens, before and after ``sampling``; of a ``covered`` token, the true one is marked."""
    drawn = draw_choice(view, names(of, view, covered=covered))
    how = {} if sampling == USUAL else {"sampling": Code(f"vm.{sampling!r}")}
    call = of.call("next_tokens", position=of.token, **how)
    return Drawn(drawn, of.words("choice_alt"), view, ("logits", "probs"), call)
