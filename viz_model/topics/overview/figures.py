"""The whole run in one picture, labelled."""

from __future__ import annotations

import numpy as np

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.picture import Painted
from viz_model.measures import patches
from viz_model.measures.classes import classes
from viz_model.measures.heads import HEAD
from viz_model.measures.stream import evenly
from viz_model.topics.overview.numbers import views
from viz_model.topics.overview.numbers.things_to_try import ending
from viz_model.topics.overview.pictures import drawn as of_pictures
from viz_model.topics.overview.pictures import overview as pictures
from viz_model.topics.overview.pictures.drawn import DrawnView, Looking
from viz_model.topics.overview.pictures.overview import OverviewView


def overview(of: Subject, view: OverviewView | None = None) -> Drawn:
    """From tokens to the next one; ``view`` where it is known."""
    trace = of.trace
    view = view or views.overview_view(trace, of.token, of.layer)
    kinds = [HEAD.label(of.t.language, block.does) for block in view.blocks]
    words = {name: of.words(f"scene_{name}") for name in pictures.WORDS}
    words |= {part: of.words(f"scene_{part}_{ending(trace)}") for part in ("next", "after")}
    shown = ("embed.token", "embed.position", of.at("attn.pattern"))
    call = of.call("overview", layer=of.layer, token=of.token)
    sites = tuple(name for name in shown if name in trace)
    return Drawn(pictures.scene(view, kinds, trace.prefix, words), words["alt"], view, sites, call)


def drawn(of: Subject) -> Drawn:
    """The same of a model that reads a picture: from its patches to the class."""
    view = _drawn_view(of)
    words = {name: of.words(f"drawn_{name}") for name in of_pictures.WORDS}
    alt, call = of.words("drawn_alt"), of.call("overview", layer=of.layer, token=of.token)
    shown = (
        "embed.patch",
        "embed.position",
        *(f"blocks.{one.layer}.attn.pattern" for one in view.blocks),
        "class.probs",
    )
    sites = tuple(name for name in shown if name in of.trace)
    return Drawn(of_pictures.scene(view, "overview.drawn", alt, words), alt, view, sites, call)


def _drawn_view(of: Subject) -> DrawnView:
    trace, config = of.trace, of.trace.config
    pixels, grid, names = patches.pixels(trace), patches.grid(config), patches.names(trace, of.t)
    blocks = []
    for layer in evenly(trace.n_layers, of.layer, views.MAX_BLOCKS):
        site = f"blocks.{layer}.attn.pattern"
        rows = trace.row(site, of.token).numpy()
        head = int(rows.max(-1).argmax())
        view = Painted(pixels, rows[head], grid, names, trace.full_name(site), (head, of.token, COLUMN), of.token)
        blocks.append(Looking(layer, head, view))
    lengths = [float(trace.row(f"blocks.{one.layer}.resid.out", of.token).norm()) for one in blocks]
    return DrawnView(
        pixels,
        grid,
        names,
        of.token,
        trace["embed.patch"].numpy(),
        trace["embed.position"].numpy() if "embed.position" in trace else None,
        tuple(blocks),
        np.array(lengths),
        classes(trace) if config.classes else None,
    )
