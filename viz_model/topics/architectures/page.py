"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

import streamlit as st

from viz_model.app import components, controls, frame
from viz_model.app.stage import Stage, show
from viz_model.app.texts import literal
from viz_model.topics.architectures.numbers import parameters
from viz_model.topics.architectures.pictures import cache, diagram, formulas, parts, tree, where
from viz_model.topics.architectures.sections import compare


def draw(stage: Stage) -> None:
    words, own, other = stage.words, compare.first(stage), compare.second(stage)
    if other is None:
        st.info(words("alone"))
        return
    both, lms = (own, other), (own.lm, other.lm)
    config, names = own.lm.config, (own.lm.name, other.lm.name)
    said = {"first": literal(names[0]), "second": literal(names[1]), "model": literal(names[0])}

    rows = parts.part_rows(*lms)
    facts = said | parts.part_facts(rows, words)
    st.subheader(words("plan_title", **facts), anchor=False)
    picture, see = stage.split()
    diagrams = diagram.DiagramView.pair(*(diagram.Stack(one.lm.config, one.side) for one in both))
    for which, place in enumerate(picture.columns(2)):
        with place:
            figure = diagram.draw_diagram(diagrams[which], words, names[which], which)
            stage.figure(figure, f"plan{which}", words("plan_alt", model=names[which]))
    with see:
        stage.see(**facts)
    components.parts(parts.parts_scene(rows, names, words, stage.t), key="architectures.parts", on_pick=frame.go)

    st.subheader(words("sentence_title"), anchor=False)
    compare.sentence(stage, both)

    st.subheader(words("where_title"), anchor=False)
    blocks, whole = where.WhereView.blocks(*lms), where.WhereView.models(*lms)
    first, second = st.columns(2, gap="large")
    for place, name, view, row in (
        (first, "blocks", blocks, config.sides.index(own.side)),
        (second, "models", whole, 0),
    ):
        with place:
            stage.see(f"where_{name}", **said, **view.facts(row, words))
            stage.figure(where.draw_where(view, words), f"where_{name}", words(f"where_{name}_alt"))
    st.caption(words("published"))

    st.subheader(words("tree_title"), anchor=False)
    options = {"default": 0, "required": True, "format_func": names.__getitem__}
    which = controls.setting(stage, st.segmented_control, "tree", (0, 1), **options)
    components.tree(tree.tree_scene(parameters.tree(lms[which].model), words), key="architectures.modules")

    st.subheader(words("cache_title"), anchor=False)
    picture, see = stage.split()
    with picture:
        n_bytes, length = compare.cache_controls(stage)
        figure = cache.draw_cache(cache.CacheView.of(lms, length, n_bytes), words)
        stage.figure(figure, "cache", words("cache_alt"))
        st.caption(words("published"))
    with see:
        compare.caches(stage, lms, length, n_bytes)

    st.subheader(words("kinds_title"), anchor=False)
    compare.kinds(stage, both)

    def formula() -> None:
        stage.see("formula", **said)
        stage.see("cache_formula")
        for name, latex in formulas.formulas(config, words, stage.t.site_label):
            left, right = st.columns([2, 3], vertical_alignment="center")
            left.markdown(f"**{name}**")
            right.latex(latex)

    def hand() -> None:
        block = own.lm.model.stack(own.side).block(own.layer)
        stage.see("hand", **said, layer=own.layer, **formulas.by_hand(parameters.tree(block)))

    def code() -> None:
        stage.code(layer=own.layer)

    def numbers() -> None:
        stage.records("parameters", where.count_columns(whole, words))
        stage.records("published", where.reference_columns(words))

    stage.tabs(formula, hand, code, numbers)
    stage.question()


def run() -> None:
    """Open the page."""
    show("architectures", draw)
