"""The visitor's sentence: the tokens' vectors by depth, the pull of the loss, the final norm, the predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from viz_model.app import elements, frame, runs
from viz_model.app.cache import cached
from viz_model.config import Side
from viz_model.topics.block.sections.depth import along_the_stream
from viz_model.topics.norm_placement.choices import GRADIENT, UNTRAINED
from viz_model.topics.norm_placement.numbers import gradients, views
from viz_model.topics.norm_placement.numbers import twins as numbers
from viz_model.topics.norm_placement.numbers.gradients import StreamGradients
from viz_model.topics.norm_placement.pictures import depth as depth_pictures
from viz_model.topics.norm_placement.pictures import final, look, predictions
from viz_model.topics.norm_placement.pictures import gradients as gradients_picture
from viz_model.topics.norm_placement.pictures.depth import DepthView
from viz_model.topics.norm_placement.sections.comparison import Comparison, finding, heading
from viz_model.topics.norm_placement.sections.fresh import untrained_similarity

MOST_WORK = 4_000_000_000
"""Parameters times tokens that are run backwards unasked: about a second."""

MOST_DRAWN = 40_000_000
"""Parameters that are drawn anew unasked: half a second."""

STREAM = ("resid.mid", "resid.cross", "resid.out")


@cached()
def stream_gradients(key: runs.RunKey, side: Side) -> StreamGradients:
    """∂loss/∂r along the residual stream of a stack, for a run that has a loss."""
    return gradients.stream_gradients(runs.trace(key).at(side))


@cached()
def bare_top_changes(key: runs.RunKey) -> int:
    """At how many positions a model's first choice would be another without its final norm."""
    run = runs.trace(key)
    return numbers.bare_top_changes(run.at(run.config.sides[-1]))


def section(shown: Comparison) -> None:
    heading(shown.page, f"sentence{shown.alone}")
    first, second = (st.columns(2, gap="large") for _ in range(2))
    _by_depth(shown, *first)
    _pull(shown, second[0])
    _final(shown, second[1])
    if not shown.alone:
        view = views.predictions_of_twins(shown.traces, shown.page.token)
        figure = predictions.draw_predictions(view, look.NAMES, look.TWIN_FILLS)
        finding(shown, st.container(), "predictions", figure, view.facts(), "logits", "probs")


def depth_of(shown: Comparison) -> DepthView:
    """Lengths and likeness of the tokens' vectors."""
    side = shown.page.trace.stack.side
    known = {place: along_the_stream(key, side) for place, key in shown.keys.items()}
    return views.depth_view(shown.traces, shown.page.token, _untrained(shown), known)


def _untrained(shown: Comparison) -> dict[str, np.ndarray]:
    """How alike the tokens are in the same models before training; nothing of one token, or of what nobody asks for."""
    page = shown.page
    if len(page.trace) < 2 or (_is_large(shown) and not page.chosen(UNTRAINED)):
        return {}
    return {place: untrained_similarity(key, page.trace.stack.side) for place, key in shown.keys.items()}


def _is_large(shown: Comparison) -> bool:
    """Whether a model is too large to be drawn anew unasked."""
    n_parameters = (sum(p.numel() for p in trace.model.parameters()) for trace in shown.traces.values())
    return max(n_parameters) > MOST_DRAWN


def _by_depth(shown: Comparison, place: Any, beside: Any) -> None:
    page = shown.page
    few = len(page.trace) < 2
    if _is_large(shown) and not few:
        label = page.words("untrained_run")
        elements.control(page, UNTRAINED, beside.toggle, label=label, help=page.words("untrained_help"))
    view = depth_of(shown)
    stream = ["embed.out", *shown.sites(*STREAM)]
    length = page.words("length") + (f" {page.words('log')}" if view.is_wide else "")
    end = shown.alone and f"_{shown.own}"
    if not shown.sets_length:
        end = "_other" if shown.alone else "_twins_other"
    finding(shown, place, "norms", depth_pictures.draw_norms(view, length), view.facts(), *stream, end=end)
    if few:
        beside.info(page.words("one_token_alike"))
        return
    figure = depth_pictures.draw_similarity(view, page.words("cosine"), page.words("untrained"))
    finding(shown, beside, "alike", figure, view.facts(), *stream, end=shown.alone)
    if view.untrained:
        with beside:
            elements.see(page, f"untrained{shown.alone}", **shown.values(view.facts()))


def _pull(shown: Comparison, place: Any) -> None:
    """The gradient of the loss along the stream, or why there is none."""
    page = shown.page
    if why := gradients.no_loss(page.trace):
        place.info(page.words(f"gradient_{why}"))
        return
    if gradients.work(page.trace) > MOST_WORK:
        place.markdown(f"#### {page.words('gradient_ask')}")
        label = page.words("gradient_run")
        if not elements.control(page, GRADIENT, place.toggle, label=label, help=page.words("gradient_help")):
            return
    found = {name: stream_gradients(key, page.trace.stack.side) for name, key in shown.keys.items()}
    view = gradients_picture.GradientsView.of(found)
    kind = next(iter(found.values()))
    loss = page.words(f"loss_{kind.kind}", n=kind.n_predicted, start=frame.start(page.trace, page.t))
    figure = gradients_picture.draw_gradients(view, page.words("gradient"))
    sites = "embed.out", *shown.sites("resid.out")
    finding(shown, place, "gradients", figure, view.facts() | {"what": loss}, *sites, end=shown.alone)


def _final(shown: Comparison, place: Any) -> None:
    """What the final norm of a Pre-LN model does, or that a Post-LN model needs none."""
    page, token, marks = shown.page, shown.page.token, look.NORM_FILLS
    names = {name: page.words(f"{name}_norm") for name in marks}
    if "pre" not in shown.traces:
        place.markdown(f"#### {page.words('final_title_post')}")
        with place:
            elements.see(page, "final_post", **shown.values(views.final_view(page.trace, token).facts()))
        return
    trace = shown.traces["pre"]
    last = f"blocks.{trace.n_layers - 1}.resid.out"
    if numbers.ends_in_logits(trace):
        bare = views.predictions_without_final_norm(trace, token)
        changed = str(bare_top_changes(shown.keys["pre"]))
        facts = bare.facts() | views.logit_ranges(trace, token) | {"changed": changed}
        figure = predictions.draw_predictions(bare, names, marks)
        finding(shown, place, "final", figure, facts, last, "logits", end=shown.alone)
        return
    lengths = views.final_view(trace, token)
    figure = final.draw_final(lengths, names, page.words("length"))
    finding(shown, place, "final_length", figure, lengths.facts(), last, "final.norm.out")
