"""The whole run in one picture, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.attention.claims import HEAD
from viz_model.topics.overview.numbers import views
from viz_model.topics.overview.numbers.things_to_try import ending
from viz_model.topics.overview.pictures import overview as pictures
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
