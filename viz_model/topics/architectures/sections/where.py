"""Where the parameters are: of one block, and of whole models; and the modules that hold them."""

from __future__ import annotations

import streamlit as st

from viz_model.app import components, elements
from viz_model.topics.architectures.choices import TREE
from viz_model.topics.architectures.numbers import parameters, views
from viz_model.topics.architectures.pictures.tree import tree_scene
from viz_model.topics.architectures.pictures.where import draw_where
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, words, own = pair.page, pair.page.words, pair.own
    st.subheader(words("where_title"), anchor=False)
    blocks, whole = views.one_block(*pair.lms, layer=own.layer), views.whole_models(*pair.lms)
    first, second = st.columns(2, gap="large")
    for place, name, view, row in (
        (first, "blocks", blocks, own.lm.config.sides.index(own.side)),
        (second, "models", whole, 0),
    ):
        with place:
            elements.see(page, f"where_{name}", **pair.names, **view.facts(row, words))
            elements.figure(page, draw_where(view, words), f"where_{name}", words(f"where_{name}_alt"))
    st.caption(words("published"))


def tree(pair: Pair) -> None:
    page = pair.page
    st.subheader(page.words("tree_title"), anchor=False)
    names = (pair.own.lm.name, pair.other.lm.name)
    which = elements.control(page, TREE, st.segmented_control, (0, 1), required=True, format_func=names.__getitem__)
    scene = tree_scene(parameters.tree(pair.lms[which].model), page.words)
    components.tree(scene, key="architectures.modules")
