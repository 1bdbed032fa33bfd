"""Where the parameters are: of one block, and of whole models; and the modules that hold them."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import components, elements
from viz_model.app.page import Page
from viz_model.drawing.sheet import Sheet
from viz_model.topics.architectures import claims
from viz_model.topics.architectures.choices import TREE
from viz_model.topics.architectures.numbers import parameters, views
from viz_model.topics.architectures.pictures.common import short
from viz_model.topics.architectures.pictures.tree import tree_scene
from viz_model.topics.architectures.pictures.where import WhereView, draw_scale, draw_where
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, words = pair.page, pair.page.words
    st.subheader(words("where_title"), anchor=False)
    whole = views.whole_models(*pair.lms)
    first, second = st.columns(2, gap="large")
    with first:
        _blocks(pair)
    with second:
        elements.say(page, claims.LARGEST, float(whole.shares[0].max()), **pair.names, **whole.facts(0, words))
        ends = claims.Vocabulary(*whole.vocabulary())
        elements.say(page, claims.VOCABULARY, ends, small=f"{ends.smallest:.0%}", large=f"{ends.largest:.1%}")
        elements.figure(page, draw_where(whole, words), "where_models", words("where_models_alt"))
    st.caption(words("published"))
    _scale(pair)


def _blocks(pair: Pair) -> None:
    """Of one block: layers may be built in more than one way."""
    page, row = pair.page, pair.own.lm.config.sides.index(pair.own.side)

    def view(page: Page) -> WhereView:
        return views.one_block(*pair.lms, layer=page.view.layer)

    def tell(page: Page) -> Iterator[str]:
        yield page.prose("where_blocks", **pair.names, **view(page).facts(row, page.words))

    def draw(page: Page) -> Sheet:
        return draw_where(view(page), page.words)

    elements.told(page, tell, "where_blocks", by=("layer",))
    elements.figure(page, draw, "where_blocks", page.words("where_blocks_alt"), by=("layer",))


def _scale(pair: Pair) -> None:
    """How large published models are beside the two that are here."""
    page, view = pair.page, views.scale_view(*pair.lms)
    known = dict(zip(view.names, zip(view.blocks.tolist(), view.parameters.tolist(), strict=True), strict=True))
    facts = {"blocks": known[pair.own.lm.name][0], "total": short(known[pair.own.lm.name][1])}
    for key, name in (("gpt2", "GPT-2 small (2019)"), ("gpt3", "GPT-3 (2020)"), ("qwen3", "Qwen3-14B (2025)")):
        facts |= {f"{key}_blocks": known[name][0], key: f"{known[name][1]:,}"}
    times = known["GPT-3 (2020)"][1] / known[pair.own.lm.name][1]
    picture, see = elements.split()
    with picture:
        st.markdown(f"#### {page.words('scale_title')}")
        elements.figure(page, draw_scale(view, page.words), "scale", page.words("scale_alt"))
    with see:
        elements.see(page, "scale", **pair.names, **facts, times=f"{times:,.0f}")


def tree(pair: Pair) -> None:
    page = pair.page
    st.subheader(page.words("tree_title"), anchor=False)
    names = (pair.own.lm.name, pair.other.lm.name)
    which = elements.control(page, TREE, st.segmented_control, (0, 1), required=True, format_func=names.__getitem__)
    scene = tree_scene(parameters.tree(pair.lms[which].model), page.words)
    components.tree(scene, key="architectures.modules")
