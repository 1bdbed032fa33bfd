"""The way to the page of a head or a neuron, from wherever one is named."""

from __future__ import annotations

from typing import Any

from viz_model.config import ModelConfig
from viz_model.drawing.tables import by
from viz_model.island.look import Look
from viz_model.island.page import Offer
from viz_model.island.prose import Line


def fits(config: ModelConfig) -> bool:
    """Whether a unit of a model has a page: of a decoder that predicts tokens."""
    return config.kind == "decoder" and config.has_logits and not config.reads_pictures


def link(look: Look, layer: Any = None, *, head: Any = None, neuron: int | None = None) -> Offer | None:
    """A button to a unit's page; layer and head may be tables, by default those that are selected."""
    if not fits(look.config):
        return None
    layer = by("layer", range(look.n_layers)) if layer is None else layer
    head = by("head", range(look.n_heads)) if head is None else head
    change = {"page": "units", "layer": layer, "neuron": "" if neuron is None else str(neuron)}
    if neuron is None:
        said = look.common("unit_head", layer=layer, head=head)
        return Offer(Line(said), look.common("unit_open"), {**change, "head": head})
    return Offer(Line(look.common("unit_neuron", layer=layer, neuron=neuron)), look.common("unit_open"), change)
