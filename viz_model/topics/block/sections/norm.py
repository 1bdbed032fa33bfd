"""A norm of the visitor's choice at work, and the other kind of norm on the same vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, title
from viz_model.app.page import Page
from viz_model.topics.block import figures
from viz_model.topics.block.choices import WHICH
from viz_model.topics.block.claims import NORM
from viz_model.topics.block.numbers import views
from viz_model.topics.block.pictures import norm
from viz_model.topics.block.pictures.norm import NormView
from viz_model.topics.block.sections.one_block import OneBlock


def _which(block: OneBlock) -> str:
    """The sublayer whose norm is chosen."""
    return elements.on_offer(
        block.page, WHICH, [sum_.sublayer for sum_ in block.vectors.sums if sum_.sublayer in block.vectors.normed]
    )


def _drawn(page: Page) -> Drawn:
    block = OneBlock(page)
    return figures.of_norm(page.subject, _which(block), block.vectors)


def norm_of(block: OneBlock) -> NormView:
    """The chosen norm."""
    page = block.page
    return views.norm_view(page.trace, page.view.layer, _which(block), page.token)


def section(block: OneBlock) -> None:
    page, vectors, facts = block.page, block.vectors, block.facts
    elements.told(page, _title, "norm_title")
    if not vectors.has_norms:
        elements.see(page, "norm_NoNorm", **facts)
        return
    view = norm_of(block)
    names = {
        addition.sublayer: page.words(
            f"which_{vectors.norm_at if vectors.norm_at in ('post', 'branch') else 'pre'}",
            part=page.words(f"part_{addition.sublayer}"),
            reads=addition.reads,
        )
        for addition in vectors.sums
        if addition.sublayer in vectors.normed
    }
    look: dict[str, Any] = {"label_visibility": "collapsed", "help": None}
    elements.choose(page, WHICH, tuple(names), format_func=names.__getitem__, **look)
    left, right = st.columns(2, gap="large")
    with left:
        elements.shown(page, _drawn, "norm")
    with right:
        if view.normed.learnt:
            axis = page.t("common.axis_dimension")
            elements.figure(
                page,
                lambda page: norm.draw_parameters(norm_of(OneBlock(page)), block.dimension, axis),
                "parameters",
                page.words(page.kind("parameters", vectors.kind)),
                by=("layer",),
            )
        if view.normed.other is None:
            facts["learnt"] = page.words("norm_learnt") if view.normed.learnt else ""
            elements.see(page, "norm_other", formula=page.trace.site(f"{view.site}.out").formula, **facts)
        else:
            elements.told(page, _both, "both_norms")
        elements.see(page, "why_norm", **facts)
    elements.source(page, *view.sites)


def _title(page: Page) -> Iterator[Said]:
    block = OneBlock(page)
    facts = block.facts
    has_norms = block.vectors.has_norms
    yield title(page.verdict(NORM, norm_of(block), **facts) if has_norms else page.words("norm_NoNorm", **facts))


def _both(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    if block.vectors.has_norms and (view := norm_of(block)).normed.other is not None:
        yield page.prose("both_norms", **block.facts, **view.facts())
