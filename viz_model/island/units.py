"""The way to the page of a head or a neuron, from wherever one is named."""

from typing import Any

import numpy as np

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
    named = {"layer": look.layer_number if layer is None else layer}
    change = {"page": "units", "layer": by("layer", np.arange(look.n_layers)) if layer is None else layer}
    if neuron is not None:
        said = look.common("unit_neuron", neuron=neuron, **named)
        return Offer(Line(said), look.common("unit_open"), {**change, "neuron": str(neuron)})
    said = look.common("unit_head", head=look.head_number if head is None else head, **named)
    heads = by("head", np.arange(look.n_heads)) if head is None else head
    return Offer(Line(said), look.common("unit_open"), {**change, "head": heads, "neuron": ""})
