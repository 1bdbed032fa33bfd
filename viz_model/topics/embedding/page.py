"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

import streamlit as st

from viz_model.app import runs
from viz_model.app.stage import Stage, show
from viz_model.app.texts import literal
from viz_model.topics.embedding.pictures import embedding


def draw(stage: Stage) -> None:
    trace, t, token = stage.trace, stage.t, stage.token
    geometry = runs.embedding_geometry(stage.view.model)
    facts = embedding.facts(trace, geometry, token)
    near, axes = (
        embedding.NeighboursView.of(trace, geometry, token),
        (t("common.axis_token"), t("common.axis_dimension")),
    )
    named = {"token": stage.token_name(), "near": literal(near.labels[0]), "cosine": f"{near.cosines[0]:.2f}"}

    picture, see = stage.split()
    with picture:
        lookup = embedding.LookupView.of(trace, geometry, token)
        words = {key: stage.words(f"lookup_{key}", **facts) for key in ("table", "rows", "row", "mean")}
        figure = embedding.draw_lookup(lookup, {**words, "token": axes[0], "dimension": axes[1]})
        stage.figure(figure, "lookup", stage.words("lookup_alt", **facts))
        st.caption(stage.words("pooled", **dict(zip(("rows", "columns"), lookup.group, strict=True)), **facts))
        stage.source("tokens.ids")
    again = embedding.repeats(trace)
    with see:
        stage.see(
            **{**facts, **named},
            nearest=", ".join(literal(label) for label in near.labels[:3]),
            repeat=stage.words(
                "repeat" if again else "no_repeat",
                again=stage.token_name(again[0]) if again else "",
                positions=", ".join(map(str, again[:6])) + (" …" if len(again) > 6 else "") if again else "",
            ),
        )

    st.subheader(stage.words("matrix" if stage.lm.config.scale_embedding else "matrix_plain", **facts), anchor=False)
    matrix = embedding.matrix_view(trace, token, axes)
    stage.figure(embedding.draw_matrix(matrix), "matrix", stage.words("matrix_alt", **facts))
    st.caption(stage.words("limit", limit=f"{matrix.limit:.2f}"))
    stage.source("embed.token")

    if added := embedding.added(trace):
        stage.see("added", token=stage.token_name(), sites=", ".join(map(literal, map(trace.full_name, added))))
    vector = embedding.VectorView.of(trace, token)
    largest = f"{vector.values[vector.largest]:.2f}"
    st.markdown(f"**{stage.words('vector', value=largest, d=vector.largest, **{**facts, **named})}**")
    stage.figure(embedding.draw_vector(vector, axes[1]), "vector", stage.words("vector_alt", **{**facts, **named}))

    st.subheader(stage.words("near", **named), anchor=False)
    bars, plane = st.columns([2, 3], gap="large")
    with bars:
        st.markdown(stage.words("bars", **{**facts, **named}))
        words = {key: stage.words(key) for key in ("cosine", "id")}
        stage.figure(embedding.draw_neighbours(near, words), "near", stage.words("near_alt", **named))
    with plane:
        st.markdown(stage.words("plane", **facts))
        view = embedding.MapView.of(trace, geometry, token, near)
        shares = {key: f"{share:.1%}" for key, share in zip(("first", "second"), view.explained, strict=True)}
        words = {**{key: stage.words(key, share=share) for key, share in shares.items()}, "id": stage.words("id")}
        figure = embedding.draw_map(view, {**words, "count": stage.words("count")})
        stage.figure(figure, "plane", stage.words("plane_alt", **facts))
    st.caption(stage.words("plane_legend", outside=f"{view.outside:,}", **{**facts, **named}))

    def formula() -> None:
        stage.formula(*(n for n in ("tokens.ids", "embed.token", "embed.segment", "embed.norm.out") if n in trace))
        stage.see("formula", **facts)

    def hand() -> None:
        worked = embedding.by_hand(trace, geometry, token, int(near.ids[0]))
        stage.see("hand", **{**facts, **worked, **named})

    def code() -> None:
        stage.code(sites=("embed.token", *(n for n in trace.sites if n.startswith(("tokens.", "embed.")))))

    def numbers() -> None:
        stage.table("embed.token", matrix.values, stage.token_labels, stage.dimension_labels, "matrix")
        headings = (stage.words("id"), axes[0], stage.words("cosine"))
        stage.records(
            "neighbours", dict(zip(headings, (near.ids.tolist(), near.labels, near.cosines.tolist()), strict=True))
        )

    stage.tabs(formula, hand, code, numbers)
    stage.question(**facts)


def run() -> None:
    """Open the page."""
    show("embedding", draw, without={"head"})
