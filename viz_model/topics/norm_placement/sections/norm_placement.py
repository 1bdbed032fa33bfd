"""The page on the place of the norm: trained twins side by side, or one model measured on its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import viz_model as vm
from viz_model.app import runs, state
from viz_model.app.stage import Stage
from viz_model.app.texts import literal
from viz_model.topics.block.sections.depth import along_the_stream
from viz_model.topics.norm_placement.numbers import gradients
from viz_model.topics.norm_placement.numbers.twins import ends_in_logits
from viz_model.topics.norm_placement.pictures import twins

MOST_WORK = 4_000_000_000
"""Parameters times tokens that are run backwards unasked: about a second."""

MOST_DRAWN = 40_000_000
"""Parameters that are drawn anew unasked: half a second."""

BLOCK = ("resid.in", "attn.out", "resid.mid", "cross.out", "resid.cross", "ffn.out", "resid.out")
STREAM = ("resid.mid", "resid.cross", "resid.out")


class Comparison:
    """What the sections share: the traces by place of the norm, and what a sentence may need.

    ``alone`` is "" for twins, and "_alone" for a model without one: the texts' keys end in it.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage, self.words = stage, stage.words
        self.own = stage.lm.config.norm_at
        self.names: dict[str, str] = {self.own: stage.view.model}
        if stage.lm.twin in runs.names():
            twin = runs.model(stage.lm.twin)
            self.names[twin.config.norm_at] = stage.lm.twin
        self.asked = {
            place: stage.asked._replace(model=self.names[place]) for place in twins.NAMES if place in self.names
        }
        self.side = stage.trace.stack.side
        self.traces: dict[str, vm.Trace] = {
            place: runs.trace(asked).at(self.side) for place, asked in self.asked.items()
        }
        self.alone = "" if len(self.traces) > 1 else "_alone"
        self.norm = type(stage.lm.config.norm).__name__

    def say(self, facts: Mapping[str, str]) -> dict[str, object]:
        """Facts for the texts; those of a model alone lose the name of the place it has its norm."""
        said: dict[str, object] = {
            "token": self.stage.token_name(),
            "layer": self.stage.view.layer,
            "n": len(self.stage.trace),
            "place": twins.NAMES[self.own],
            "norm": self.norm,
        }
        for key, value in facts.items():
            key = key.removeprefix(f"{self.own}_") if self.alone else key
            said[key] = (
                literal(value) if key.endswith("_top") else self.words(value) if key.endswith("_word") else value
            )
        return said

    def sites(self, *names: str) -> list[str]:
        """Those of the selected block's sites that the model has."""
        known = frozenset(self.stage.trace.sites)
        return [self.stage.at(name) for name in names if self.stage.at(name) in known]

    def show(self, place: Any, name: str, figure: go.Figure, facts: Mapping[str, str], *sites: str, end: str) -> None:
        """A picture under its finding; ``end`` is the end of the texts' keys."""
        said = self.say(facts)
        with place:
            st.markdown(f"#### {self.words(f'{name}_title{end}', **said)}")
            self.stage.figure(figure, name, self.words(f"{name}_alt"))
            self.stage.see(f"{name}{end}", **said)
            self.stage.source(*sites)


def section(page: Comparison, name: str) -> None:
    """The heading of a part of the page, with what it asks."""
    st.divider()
    st.subheader(page.words(f"part_{name}"), anchor=False)
    page.stage.see(f"part_{name}")


def introduce(page: Comparison) -> None:
    """Who is compared, or why nobody is; with a way to the models that can be."""
    if not page.alone:
        page.stage.see("twins")
        return
    page.stage.see(f"alone_{page.own}", model=literal(page.stage.view.model), norm=page.norm)
    paired = next((name for name in runs.names() if runs.model(name).twin in runs.names()), None)
    if paired is not None:
        st.button(
            page.words("see_twins"),
            key="norm_placement.see_twins",
            icon=":material/compare_arrows:",
            on_click=state.update,
            kwargs={"model": paired, "token": None},
        )


def blocks(page: Comparison) -> None:
    """The block with the norm where it stands, and the lengths of the token's vectors."""
    stage = page.stage
    views = {place: twins.BlockView.of(trace, stage.view.layer, stage.token) for place, trace in page.traces.items()}
    picture, see = stage.split()
    names = {"norm": "norm", "attn": "attention", "cross": "cross_attention", "ffn": "ffn"}
    with picture:
        stations = {part: stage.t(f"common.map_{name}") for part, name in names.items()}
        stage.figure(twins.draw_blocks(views, stations, page.own), "blocks", page.words(f"blocks_alt{page.alone}"))
        stage.source(*page.sites(*BLOCK))
    with see:
        stage.see(f"see{page.alone and f'_{page.own}'}", **page.say(twins.lengths(views)))


def predictions(page: Comparison) -> None:
    """What each of the twins expects."""
    choices = twins.PredictionsView.twins(page.traces, page.stage.token)
    figure = twins.draw_predictions(choices, twins.NAMES, twins.TWIN_MARKS)
    page.show(st.container(), "predictions", figure, choices.facts(), "logits", "probs", end="")


def by_depth(page: Comparison, place: Any, beside: Any) -> twins.DepthView:
    """Lengths and likeness of the tokens' vectors."""
    few = len(page.stage.trace) < 2
    known = {place: along_the_stream(asked, page.side) for place, asked in page.asked.items()}
    view = twins.DepthView.of(page.traces, page.stage.token, {} if few else untrained(page, beside), known)
    stream = ["embed.out", *page.sites(*STREAM)]
    length = page.words("length") + (f" {page.words('log')}" if view.is_wide else "")
    end = page.alone and f"_{page.own}"
    page.show(place, "norms", twins.draw_norms(view, length), view.facts(), *stream, end=end)
    if few:
        beside.info(page.words("one_token_alike"))
        return view
    figure = twins.draw_similarity(view, page.words("cosine"), page.words("untrained"))
    page.show(beside, "alike", figure, view.facts(), *stream, end=page.alone)
    if view.untrained:
        with beside:
            page.stage.see(f"untrained{page.alone}", **page.say(view.facts()))
    return view


def untrained(page: Comparison, place: Any) -> dict[str, np.ndarray]:
    """How alike the tokens are in the same models before training; nothing of large ones, unless asked."""
    n_parameters = max(sum(p.numel() for p in trace.model.parameters()) for trace in page.traces.values())
    if n_parameters > MOST_DRAWN:
        words, key = page.words("untrained_run"), "norm_placement.untrained"
        if not place.toggle(words, key=key, help=page.words("untrained_help")):
            return {}
    return {place: runs.untrained_similarity(asked, page.side) for place, asked in page.asked.items()}


def pull(page: Comparison, place: Any) -> None:
    """The gradient of the loss along the stream, or why there is none."""
    stage = page.stage
    if why := gradients.no_loss(stage.trace):
        place.info(page.words(f"gradient_{why}"))
        return
    if gradients.work(stage.trace) > MOST_WORK:
        place.markdown(f"#### {page.words('gradient_ask')}")
        if not place.toggle(
            page.words("gradient_run"), key="norm_placement.gradient", help=page.words("gradient_help")
        ):
            return
    found = {place: runs.gradients(asked, page.side) for place, asked in page.asked.items()}
    view = twins.GradientsView.of(found)
    kind = next(iter(found.values()))
    loss = page.words(f"loss_{kind.kind}", n=kind.n_predicted, start=stage.start)
    figure = twins.draw_gradients(view, page.words("gradient"))
    facts = view.facts() | {"what": loss}
    page.show(place, "gradients", figure, facts, "embed.out", *page.sites("resid.out"), end=page.alone)


def final(page: Comparison, place: Any) -> None:
    """What the final norm of a Pre-LN model does, or that a Post-LN model needs none."""
    stage, marks = page.stage, twins.NORM_MARKS
    names = {name: page.words(f"{name}_norm") for name in marks}
    if "pre" not in page.traces:
        place.markdown(f"#### {page.words('final_title_post')}")
        with place:
            stage.see("final_post", **page.say(twins.FinalView.of(stage.trace, stage.token).facts()))
        return
    trace = page.traces["pre"]
    last = f"blocks.{trace.n_layers - 1}.resid.out"
    if ends_in_logits(trace):
        bare = twins.PredictionsView.final_norm(trace, stage.token)
        changed = runs.bare_top_changes(page.asked["pre"])
        facts = bare.facts() | twins.logit_ranges(trace, stage.token) | {"changed": str(changed)}
        figure = twins.draw_predictions(bare, names, marks)
        page.show(place, "final", figure, facts, last, "logits", end=page.alone)
        return
    lengths = twins.FinalView.of(trace, stage.token)
    figure = twins.draw_final(lengths, names, page.words("length"))
    page.show(place, "final_length", figure, lengths.facts(), last, "final.norm.out", end="")
