"""Two models beside each other, labelled; the subject's is the first."""

from __future__ import annotations

from dataclasses import replace

from viz_model.app import drawn
from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.drawing.heatmap import HeatmapView
from viz_model.runs.trace import Trace
from viz_model.topics.architectures.pictures.compared import (
    ApartView,
    ChoicesView,
    ComparedView,
    DepthView,
    draw_apart,
    draw_choices,
    draw_depth,
    draw_pattern,
    joined,
)


def of_choices(of: Subject, view: ChoicesView, which: int, name: str) -> Drawn:
    """What one of the two expects at the subject's token."""
    key = "choices_here_name" if of.trace.config.kind == "encoder" else "choices_next_name"
    heading = of.words(key, model=name, token=of.trace.tokens[of.token].label)
    return Drawn(draw_choices(view, which, heading), of.words("choices_alt", model=name), view, ("logits",))


def of_pattern(of: Subject, view: HeatmapView, name: str) -> Drawn:
    """The subject's head of one of the two."""
    heading = of.words("head_name", model=name, layer=of.layer, head=of.head)
    return Drawn(draw_pattern(view, heading), of.words("head_alt", model=name), view, (of.at("attn.pattern"),))


def of_depth(of: Subject, view: DepthView) -> Drawn:
    """The mean length of the stream by depth in both."""
    sites = ("embed.out", f"blocks.{of.trace.n_layers - 1}.resid.out")
    return Drawn(draw_depth(view, of.words), of.words("depth_alt"), view, sites)


def of_apart(of: Subject, view: ApartView) -> Drawn:
    """How far the patterns of each head lie apart."""
    sites = tuple(f"blocks.{layer}.attn.pattern" for layer in range(of.trace.n_layers))
    return Drawn(draw_apart(view, of.words), of.words("apart_alt"), view, sites)


Parts = dict[str, tuple[Subject, Drawn]]
"""The pictures of two runs by their names, each with what it is of."""


def parts(of: Subject, other: Trace, view: ComparedView) -> Parts:
    """Each picture for itself; ``other`` is the second run, seen from the same stack."""
    layer, head, token = view.places[1]
    both = of, replace(of, trace=other, layer=layer, head=head, token=token)
    made: Parts = {}
    for which, (one, name, choices) in enumerate(zip(both, view.names, view.choices, strict=True)):
        if choices is not None:
            made[f"choices{which}"] = one, of_choices(one, choices, which, name)
    for which, (one, name, pattern) in enumerate(zip(both, view.names, view.patterns, strict=True)):
        made[f"head{which}"] = one, of_pattern(one, pattern, name)
    made["depth"] = of, of_depth(of, view.depth)
    if view.apart is not None:
        made["distances"] = of, of_apart(of, view.apart)
    return made


def of_runs(of: Subject, view: ComparedView, made: Parts) -> Drawn:
    """All of them in one picture."""
    scenes = {
        name: drawn.scene(one, part.picture, name, part.alt, own=one is of and not of.trace.edits)
        for name, (one, part) in made.items()
    }
    title = of.words("compared_title", first=view.names[0], second=view.names[1])
    sites = tuple(dict.fromkeys(site for one, part in made.values() if one is of for site in part.sites))
    return Drawn(joined(scenes, "compare", title), title, view, sites)
