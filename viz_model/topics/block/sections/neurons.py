"""The hidden layer: its busiest neurons, its activation and, where it has them, its gates."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.topics.block import figures
from viz_model.topics.block.claims import GATE
from viz_model.topics.block.numbers import views
from viz_model.topics.block.numbers.neurons import writing
from viz_model.topics.block.pictures import neurons
from viz_model.topics.block.pictures.neurons import CurveView
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    if not block.n_neurons:
        none(block)
        return
    page, view = block.page, block.neurons
    curve, facts = _curve_view(page), _facts(block)
    _busiest(block, facts)
    if curve is None:
        elements.see(page, "curve_none", **facts)
        elements.formula(page, page.at("ffn.act"))
        return
    elements.told(page, _curve_title, "curve_title")
    left, right = st.columns(2, gap="large") if view.gated else elements.split()
    with left:
        _curve(block)
    with right:
        if view.gated:
            labels = block.labels("gate", "gate_act", "up", "product", "neuron", of="gates_")
            elements.figure(
                page,
                lambda page: neurons.draw_gates(gated, labels) if (gated := OneBlock(page).neurons).gated else None,
                "gates",
                page.words("gates_alt"),
            )
            if view.closed:
                elements.told(page, _tell_gates, "gates_told")
    with left if view.gated else right:
        formula = page.trace.site(curve.curve.site).formula
        elements.see(page, page.kind("curve", view.activation), formula=formula, **facts)
        elements.told(page, _tell_curve, "curve_told")
    names = map(page.at, ("ffn.gate", "ffn.gate_act", "ffn.up", "ffn.act"))
    elements.source(page, *(name for name in names if name in page.trace))


def none(block: OneBlock) -> None:
    """A feed-forward that has no hidden neurons, as it is declared."""
    page = block.page
    st.subheader(page.words("neurons_none", **block.facts), anchor=False)
    elements.see(page, "neurons_none", **block.facts)
    elements.formula(page, *(name for name in page.trace.sites if name.startswith(page.at("ffn."))))
    elements.source(page, page.at("ffn.out"))


def _curve_view(page: Page) -> CurveView | None:
    return views.curve_view(page.trace, page.view.layer, page.token)


def _has_curve(block: OneBlock) -> bool:
    return bool(block.n_neurons) and _curve_view(block.page) is not None


def _facts(block: OneBlock) -> dict[str, object]:
    """Of the hidden layer, for texts."""
    page, view, curve = block.page, block.neurons, _curve_view(block.page)
    facts = block.facts | view.facts() | (curve.facts() if curve else {})
    facts["activation"] = page.words(page.kind("activation", view.activation))
    facts["writes"] = writing(page.trace, page.view.layer).symbol
    facts["times"] = f"{view.n_neurons / page.lm.config.d_model:.3g}"
    return facts


def _title(page: Page) -> Iterator[Said]:
    block = OneBlock(page)
    if block.n_neurons:
        yield title(page.words(f"neurons_{block.neurons.kind}", **_facts(block)))
    else:
        yield title(page.words("neurons_none", **block.facts))


def _tell(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    if block.n_neurons:
        yield page.prose(f"neurons_{block.neurons.kind}", **_facts(block))


def _busiest(block: OneBlock, facts: dict[str, object]) -> None:
    """How many neurons work on each token, and the strongest on this one."""
    page, view = block.page, block.neurons
    elements.told(page, _title, "neurons_title")
    left, right = st.columns(2, gap="large")
    with left:
        counted = page.words("counted_fires" if view.fires else "counted_half")
        names = page.t("common.axis_token"), counted
        elements.figure(
            page, lambda page: neurons.draw_active(OneBlock(page).neurons, names), "active", page.words("active_alt")
        )
        elements.told(page, _tell, "neurons_told")
    with right:
        elements.shown(page, lambda page: figures.strongest(page.subject, OneBlock(page).neurons), "neurons")
        elements.see(page, f"promoted_{view.path}", **facts)
    elements.source(page, page.at("ffn.act"))


def _curve_title(page: Page) -> Iterator[Said]:
    block = OneBlock(page)
    if _has_curve(block):
        closed, facts = block.neurons.closed, _facts(block)
        yield title(page.verdict(GATE, closed[0], **facts) if closed else page.words("curve_title", **facts))


def _tell_gates(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    if _has_curve(block) and block.neurons.closed:
        yield page.prose("gates", **_facts(block))


def _tell_curve(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    if _has_curve(block):
        yield page.prose(f"curve_of_{'gate' if block.neurons.gated else 'dense'}", **_facts(block))


def _curve(block: OneBlock) -> None:
    labels = block.labels("after", "count", of="curve_")

    def drawn(page: Page) -> Sheet | None:
        curve, gated = _curve_view(page), "gate" if OneBlock(page).neurons.gated else "dense"
        before = page.words(f"curve_before_{gated}")
        return None if curve is None else neurons.draw_curve(curve, labels | {"before": before})

    elements.figure(block.page, drawn, "curve", lambda page: page.words("curve_alt", **_facts(OneBlock(page))))
