"""Which scheme tells a layer the order of its tokens, and all schemes side by side."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from viz_model.config import ActsOn, ModelConfig, Position, variants
from viz_model.island.look import Look
from viz_model.island.page import Item, Row, where
from viz_model.island.prose import Line, line
from viz_model.model import positions
from viz_model.runs.trace import Trace

OWN = ("sinusoidal", "learned", "rope", "alibi", "t5bias", "noposition")
"""Schemes with pictures of their own. Of any other, what it declares is shown."""
COLUMNS = ("sees", "beyond", "used")


def scheme_of(trace: Trace, layer: int) -> Position:
    """The scheme of a layer."""
    return trace.config.layer(trace.stack.side, layer).position


def own(look: Look) -> Position:
    """That of the layers that are held, which is the same in all of them."""
    return scheme_of(look.trace, look.layers.start)


def scheme_name(scheme: Position) -> str:
    """What texts call a scheme."""
    return type(scheme).__name__.lower()


def name(look: Look, scheme: Position) -> str:
    """What a scheme is called; one without a text of its own by its type."""
    return _words(look, f"scheme_{scheme_name(scheme)}") or type(scheme).__name__


def present(look: Look) -> set[Position]:
    """Those of all layers of the stack."""
    return {scheme_of(look.trace, layer) for layer in range(look.n_layers)}


def shown(look: Look) -> str:
    """By which pictures a layer's scheme is shown: of :data:`OWN`, or as what it declares."""
    scheme = own(look)
    # That order is lost where nothing tells it is true of a model, not of a layer among others.
    is_whole = scheme.acts_on != "nothing" or present(look) == {scheme}
    return scheme_name(scheme) if is_whole and scheme_name(scheme) in OWN else "declared"


def has(*names: str) -> Callable[[Look], bool]:
    """Whether one of these is shown."""
    return lambda look: shown(look) in names


def only(names: str | tuple[str, ...], *items: Item | Row) -> tuple[Any, ...]:
    """Items of these schemes alone."""
    return where(has(*((names,) if isinstance(names, str) else names)), *items)


def lead(look: Look) -> Iterator[Line]:
    """What the page is about, and which layers have which scheme where they differ."""
    yield look.text("lead")
    if len(present(look)) > 1:
        names = [name(look, scheme_of(look.trace, layer)) for layer in range(look.n_layers)]
        listed = ", ".join(f"{layer}: {each}" for layer, each in enumerate(names))
        layer = look.layers.start
        yield look.text("layers_differ", layer=layer, scheme=names[layer], layers=listed)


class SchemeFacts(NamedTuple):
    """Where a scheme acts, and how many numbers are trained for it at a model's size."""

    acts_on: ActsOn
    n_trained: int


def scheme_facts(scheme: Position, model: ModelConfig) -> SchemeFacts:
    """The facts of a scheme, for one stack of a model of these sizes."""
    with torch.device("meta"):  # which gives sizes and takes no memory
        module = positions.build(scheme, model, model.sides[0])
    return SchemeFacts(scheme.acts_on, sum(weight.numel() for weight in module.parameters()))


def table(look: Look) -> Iterator[Line]:
    """One row a scheme, the model's own as it has it and in bold, the others as published."""
    here, words = own(look), look.words
    yield look.title("schemes", present=name(look, here))
    head = [words(f"schemes_{column}") for column in ("scheme", "place", "trained", *COLUMNS)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for kind in variants("position"):
        scheme: Any = here if isinstance(here, kind) else kind()
        facts, key = scheme_facts(scheme, look.config), scheme_name(scheme)
        keys = (f"place_{facts.acts_on}", *(f"scheme_{key}_{column}" for column in COLUMNS))
        place, *others = (_words(look, each) or words("scheme_other") for each in keys)
        cells = [name(look, scheme), place, f"{facts.n_trained:,}", *others]
        if scheme == here:
            cells = [f"**{cell}**" for cell in cells]
            cells[0] = f"▶\u00a0{cells[0]}"
        lines.append("| " + " | ".join(cells) + " |")
    yield line("\n".join(lines))
    yield look.note("schemes_note")


def self_only(look: Look) -> Iterator[Line]:
    """Where there is cross-attention, that it gets nothing of the kind."""
    if look.config.kind == "encoder_decoder":
        yield look.text("self_only")


def _words(look: Look, key: str) -> str:
    """A text that only known schemes have; else nothing."""
    return str(look.words(key)) if look.knows(key) else ""
