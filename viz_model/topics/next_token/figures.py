"""What a model expects at a position, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.app.texts import literal
from viz_model.config import ModelConfig, Patches
from viz_model.topics.next_token.pictures.choice import ChoiceView, draw_choice

SHARED = "next_token"
"""The group of the texts that all ways of asking share."""


def text_key(config: ModelConfig) -> str:
    """The group of texts, which names the snippet too."""
    if isinstance(config.inputs, Patches):
        return SHARED
    if not config.has_logits:
        return "sentence_vectors"
    return "masked_token" if config.kind == "encoder" else SHARED


def names(of: Subject, view: ChoiceView, *, covered: bool) -> dict[str, str]:
    """The words of the pictures of a choice."""
    facts = {**view.facts(), "top": literal(view.tokens[0].label), "token": of.token_name()}
    parts = ("before", "after", "dropped", "model", "kept_mass", "dropped_mass")
    found = {part: of.t(f"{SHARED}.bar_{part}", **facts) for part in parts}
    return found | ({"marked": of.words("true_token")} if covered else {})


def choice(of: Subject, view: ChoiceView, *, covered: bool = False) -> Drawn:
    """The first twenty tokens, before and after sampling's filters; of a ``covered`` token, the true one is marked."""
    drawn = draw_choice(view, names(of, view, covered=covered))
    return Drawn(drawn, of.words("choice_alt"), view, ("logits", "probs"))
