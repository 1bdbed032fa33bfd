"""Heads as maps, a head's matrix, and the steps of one query, labelled."""

from __future__ import annotations

from dataclasses import replace

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.drawing import maps, strips
from viz_model.drawing.scene import Scene
from viz_model.measures import patches
from viz_model.measures.heads import HEAD, HeadSummary
from viz_model.topics.attention.numbers import layer, painted, views
from viz_model.topics.attention.numbers import thumbnails as every_head
from viz_model.topics.attention.numbers.thumbnails import Thumbnails
from viz_model.topics.attention.pictures import grid, steps, thumbnails
from viz_model.topics.attention.pictures import painted as over_picture
from viz_model.topics.attention.pictures.grid import GridView
from viz_model.topics.attention.pictures.painted import HeadsView
from viz_model.topics.attention.pictures.steps import StepsView

SMALL, LARGE = 44, 150
"""Pixels of one head's map where all stand beside a page, and where they are the picture, at the most."""


def of_layer(of: Subject, view: GridView | None = None) -> Drawn:
    """All heads of a layer; those that share keys and values say so. ``view`` where it is known."""
    view = view or views.grid_view(of.trace, of.layer)
    scene = _maps(of, view)

    def fewer() -> Scene:
        small = views.coarser(of.trace, view)
        return scene if small is None else _maps(of, small)

    return Drawn(replace(scene, coarser=fewer), scene.title, view, (view.site,), of.call("heads", layer=of.layer))


def _maps(of: Subject, view: GridView) -> Scene:
    words, axes = of.words, (of.t("common.axis_query"), of.t("common.axis_key"))
    named = view._replace(site=of.trace.full_name(view.site))

    def does(head: HeadSummary) -> str:
        return HEAD.label(of.t.language, head)

    def shares(group: int) -> str:
        return words("grid_shared", heads=layer.span(view.groups[group]), group=group)

    drawn = grid.maps(named, words("grid_head"), does, shares, axes)
    title, note = words("grid_title", layer=of.layer), words("pooled", pool=view.pool) if view.pool > 1 else ""
    scene = maps.scene(drawn, "attention.grid", title, {"masked": words("grid_masked")}, words("grid_hint"))
    return replace(scene, note=note)


def of_every_layer(of: Subject, view: Thumbnails | None = None, most: int = LARGE) -> Drawn:
    """All heads of all layers, a row a layer; a map is at most ``most`` pixels wide."""
    view = view or every_head.of(of.trace)

    def name(layer: int, head: int, does: HeadSummary) -> str:
        return of.t("common.head_name", layer=layer, head=head, does=HEAD.label(of.t.language, does))

    title = of.t("common.heads")
    scene = thumbnails.scene(view, f"heads.{most}", title, name, most=most)
    sites = tuple(f"blocks.{layer}.attn.pattern" for layer in range(of.trace.n_layers))
    return Drawn(scene, title, view, sites, of.call("heads"))


def of_picture(of: Subject, view: GridView | None = None) -> Drawn:
    """Where one patch looks in each head of a layer, over the picture that was read; ``view`` where it is known."""
    trace, site = of.trace, of.at("attn.pattern")
    weights = painted.looks(trace, of.layer, of.token).weights
    looks = HeadsView(
        patches.pixels(trace),
        weights,
        patches.grid(trace.config),
        patches.names(trace, of.t),
        trace.full_name(site),
        of.head,
        of.token,
    )
    does = [HEAD.label(of.t.language, head) for head in (view or views.grid_view(trace, of.layer)).summaries]
    title = of.words("painted_title", token=of.token_name(), layer=of.layer)
    words = of.words("grid_head"), does, of.words("painted_hint")
    call = of.call("painted", layer=of.layer, head=of.head, token=of.token)
    return Drawn(over_picture.scene(looks, "attention.painted", title, *words), title, looks, (site,), call)


def matrix(of: Subject, name: str = "pattern", most: int = views.LARGEST) -> Drawn:
    """A matrix of a head, of the positions around the token, with its numbers where there is room."""
    axes = of.t("common.axis_query"), of.t("common.axis_key"), of.words("form_axis")
    view = views.head_view(of.trace, of.layer, of.head, of.token, axes, name, most)
    drawn = strips.matrix(view, written=True, hidden="0" if name == "pattern" else "−∞")
    call = of.call("head", layer=of.layer, head=of.head, matrix=name, token=of.token)
    return Drawn(drawn, of.words("head_alt", head=of.head, layer=of.layer), view, (of.at(f"attn.{name}"),), call)


def of_query(of: Subject, view: StepsView | None = None) -> Drawn:
    """The way of one query from dot products to a mixed value, as this model takes it."""
    view = view or views.steps_view(of.trace, of.layer, of.head, of.token)
    names = {name: of.words(f"step_{name}") for name in (*steps.STEPS, "weighted")}
    sites = tuple(of.at(f"attn.{name}") for name in (*layer.matrices(of.trace, of.layer), "z"))
    call = of.call("steps", layer=of.layer, head=of.head, token=of.token)
    return Drawn(steps.step_strips(view, names), of.words("steps_alt"), view, sites, call)
