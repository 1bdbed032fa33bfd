"""A block as a token goes through it, and the stream past all blocks, labelled."""

from __future__ import annotations

import numpy as np

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.block.numbers import experts, views
from viz_model.topics.block.pictures import lengths, neurons, norm, routes, strips
from viz_model.topics.block.pictures.neurons import NeuronsView
from viz_model.topics.block.pictures.strips import StripsView


def along_depth(of: Subject, found: np.ndarray | None = None) -> Drawn:
    """The length of every token's vector from the embedding to the last block; ``found`` [S, T] where known."""
    view = views.lengths_view(of.trace, of.layer, of.token, found)
    labels = {name: of.words(name) for name in ("step", "length", "log")}
    steps = [of.at(name) for name in ("resid.mid", "resid.cross", "resid.out")]
    call = of.call("residual", layer=of.layer, token=of.token)
    sites = ("embed.out", *(name for name in steps if name in of.trace))
    return Drawn(lengths.draw_lengths(view, labels), of.words("norms_alt"), view, sites, call)


def vectors(of: Subject, dimension: int = 0, view: StripsView | None = None, *, is_presented: bool = False) -> Drawn:
    """The token's vectors from the block's input to its output, one ``dimension`` followed."""
    view = view or views.strips_view(of.trace, of.layer, of.token)
    axis, length = of.t("common.axis_dimension"), of.words("length")
    alt = of.words(f"strips_alt{'_cross' if view.crosses else ''}")
    call = of.call("block", layer=of.layer, token=of.token, dimension=dimension)
    picture = strips.draw_strips(view, dimension, axis, length, is_presented=is_presented)
    return Drawn(picture, alt, view, tuple(view.sites), call)


def of_norm(of: Subject, which: str, view: StripsView | None = None) -> Drawn:
    """What a norm makes of the token's vector, before the sublayer ``which``; the block has norms."""
    block = view or views.strips_view(of.trace, of.layer, of.token)
    shown = views.norm_view(of.trace, of.layer, which, of.token)
    labels = {name: of.words(f"norm_{name}") for name in ("0", "near", "values", "axis")}
    labels["3"] = of.words(of.kind("norm_3", block.kind))
    if other := shown.normed.other:
        labels |= {"1": of.words(f"norm_1_{block.norm}"), "2": of.words("norm_2", other=other)}
    call = of.call("norms", layer=of.layer, token=of.token, which=which)
    alt = of.words("norm_alt" if other else "norm_alt_other")
    return Drawn(norm.draw_norm(shown, labels), alt, shown, shown.sites, call)


def strongest(of: Subject, view: NeuronsView | None = None) -> Drawn:
    """The neurons that work hardest on the token, and what they promote."""
    view = view or views.neurons_view(of.trace, of.layer, of.token)
    labels = {name: of.words(f"neuron_{name}") for name in ("neuron", "writes", "promotes", "activation")}
    call = of.call("neurons", layer=of.layer, token=of.token)
    return Drawn(neurons.draw_neurons(view, labels), of.words("neurons_alt"), view, (of.at("ffn.act"),), call)


def of_experts(of: Subject) -> Drawn | None:
    """Who is chosen for each token in each layer that has experts; None where none has."""
    view = experts.routes(of.trace, of.layer, of.token)
    if view is None:
        return None
    words = {name: of.words(f"routes_{name}") for name in ("title", "alt")}
    words["layer"] = of.words("routes_layer", layer="{layer}")
    words["told"] = of.words("routes_told", layer="{layer}", token="{token}", expert="{expert}", weight="{weight}")
    call = of.call("experts", layer=of.layer, token=of.token)
    return Drawn(routes.draw_routes(view, "routes", words), words["alt"], view, view.sites, call)
