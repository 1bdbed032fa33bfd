"""Items that say one text of the topic."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from viz_model.config import ModelConfig
from viz_model.island.look import Look
from viz_model.island.page import Offer
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal

Facts: TypeAlias = Callable[[Look], Mapping[str, Any]]
"""What fills the places of a text."""
Said: TypeAlias = Callable[[Look], Iterable[Line]]


def token(look: Look) -> dict[str, Any]:
    """The name of the selected token."""
    return {"token": look.token_named()}


def text(key: str, facts: Facts | None = None) -> Said:
    """A section of the topic's prose."""
    return lambda look: [look.text(key, **(facts(look) if facts else {}))]


def title(key: str, facts: Facts | None = None) -> Said:
    """A label of the topic as the title of a section."""
    return lambda look: [look.title(key, **(facts(look) if facts else {}))]


def part(key: str, facts: Facts | None = None) -> Said:
    """A label of the topic as the title of a part."""
    return lambda look: [look.part(key, **(facts(look) if facts else {}))]


def note(key: str, facts: Facts | None = None) -> Said:
    """A label of the topic in small letters."""
    return lambda look: [look.note(key, **(facts(look) if facts else {}))]


def source(*names: str) -> Said:
    """Which values of the run a picture shows."""
    return lambda look: [look.source(*names)]


def observed(look: Look) -> Iterator[Line]:
    """That the run was observed, and which of its values the model has reported."""
    parts = {"states": "embed.out", "attention": "attn.pattern", "cross": "cross.pattern", "logits": "logits"}
    there = [look.common("observed_ids")]
    there += [look.common(f"observed_{part}") for part, name in parts.items() if look.has(name)]
    yield Line(look.common("observed", name=literal(look.trace.name), parts=look.listed(there)), "notice")


def elsewhere(look: Look) -> Iterator[Line]:
    """In the place of a page of weights, at a layer that has none: where there are some."""
    layers = ", ".join(map(str, look.trace.attending))
    yield Line(look.common("unattended", layer=look.layer, layers=layers), "notice")


def leads(page: str, key: str, fits: Callable[[ModelConfig], bool]) -> Callable[[Look], Offer | None]:
    """An item: a way to another page, for the models that it is of; ``key`` says what is to be seen there."""

    def offer(look: Look) -> Offer | None:
        if not fits(look.config):
            return None
        return Offer(look.text(key), look.common(f"page_{page}"), {"page": page})

    return offer


def to_try(question: str = "question", answer: str = "answer", facts: Facts | None = None) -> Said:
    """Something to find out by trying, with its answer folded away."""

    def said(look: Look) -> Iterator[Line]:
        known = facts(look) if facts else {}
        yield look.to_try(question, **known)
        yield look.answer(answer, **known)

    return said
