"""Rotary positions: pairs of every query and key are turned."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model import config
from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.pictures import rotation
from viz_model.topics.position.pictures.matrix import draw_matrix
from viz_model.topics.position.sections import common

MAX_SHIFT = 1000


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, view = stage.trace, stage.view
    found = analysis.frequencies(trace)
    last = len(found.used) - 1
    stage.see("rope_lead")
    picture, see = stage.split()
    with picture:
        pair = common.index(stage, "rope_pair", last, min(last, 2))
        labels = common.words(stage, "rope", "value", "before", "after")
        for column, role in zip(st.columns(2), ("query", "key"), strict=True):
            plane = rotation.PlaneView.of(trace, view.layer, view.head, stage.token, pair, role)
            with column:
                st.markdown(f"**{stage.words(f'rope_{role}', head=_read(stage, role))}**")
                stage.figure(
                    rotation.draw_plane(plane, labels), f"plane_{role}", stage.words("rope_plane_alt", pair=pair)
                )
        names = [analysis.unrotated_site(trace, view.layer, letter) for letter in "qk"]
        stage.source(*names, *(stage.at(f"attn.{letter}_rotated") for letter in "qk"))
    said = rotation.summary(trace, pair)
    key = common.nearest_other(stage)
    with see:
        hand = rotation.by_hand(trace, view.layer, view.head, stage.token, key, pair)
        stage.see("rope_see", **said, **_only(hand, said), token=stage.token_name())
        _notes(stage, said)
    _frequencies(stage, pair, said)
    proof = _proof(stage, pair)
    hand = rotation.by_hand(trace, view.layer, view.head, proof.query, proof.key, pair)

    def formula() -> None:
        stage.formula(*(stage.at(f"attn.{name}") for name in ("q_rotated", "k_rotated", "scores")))
        stage.see(f"rope_formula_{_position(stage).pairing}", **said)
        stage.see("rope_formula", **said, **_only(hand, said))
        if (scaling := _position(stage).scaling) is not None:
            stage.see(f"rope_formula_{type(scaling).__name__}", **said)

    def by_hand() -> None:
        numbers_of = {**said, **hand, "token": stage.token_name(), "key": stage.token_name(proof.key)}
        stage.see("rope_hand", **numbers_of)
        if analysis.rope(trace).stretch != 1:
            stage.see("rope_hand_stretch", **said)

    def code() -> None:
        common.code(stage, stage.at("attn.q_rotated"), "q", "k", "q_normed", "k_normed", "scores")

    def numbers() -> None:
        _tables(stage, found)

    stage.tabs(formula, by_hand, code, numbers)
    return said


def _position(stage: Stage) -> config.Rope:
    position = stage.lm.config.position
    assert isinstance(position, config.Rope)  # or another part had been chosen
    return position


def _only(values: dict[str, str], known: dict[str, str]) -> dict[str, str]:
    """The values whose names are not taken."""
    return {name: value for name, value in values.items() if name not in known}


def _read(stage: Stage, role: str) -> int:
    """The head that is drawn: of keys the one that the chosen query head reads."""
    sizes = stage.lm.config
    return stage.view.head if role == "query" else stage.view.head * sizes.n_kv_heads // sizes.n_heads


def _notes(stage: Stage, said: dict[str, Any]) -> None:
    """What is special in this model's rotation."""
    sizes, position = stage.lm.config, _position(stage)
    if said["kept"] != "0":
        stage.see("rope_partial", **said)
    if sizes.qk_norm:
        stage.see("rope_normed")
    if sizes.n_kv_heads < sizes.n_heads:
        stage.see(
            "rope_shared", head=stage.view.head, group=_read(stage, "key"), share=sizes.n_heads // sizes.n_kv_heads
        )
    if position.scaling is not None:
        stage.see(f"rope_scaled_{type(position.scaling).__name__}", **said)
    if sizes.kind == "encoder_decoder":
        stage.see("self_only")


def _frequencies(stage: Stage, pair: int, said: dict[str, str]) -> None:
    trace = stage.trace
    st.subheader(stage.words("rope_frequencies", **said), anchor=False)
    angles, lengths = st.columns(2, gap="large")
    with angles:
        axes = (stage.t("common.axis_token"), stage.words("rope_pair"))
        matrix = rotation.angles_view(trace, stage.token, axes)
        drawn = draw_matrix(matrix, (pair,))
        stage.figure(drawn, "angles", stage.words("rope_angles_alt"))
        st.caption(stage.words("rope_angles_note"))
    with lengths:
        names = ("pair", "wavelength", "used", "unscaled", "sentence", "context")
        labels = {name: stage.words(f"rope_{name}", **said) for name in names}
        view = rotation.WavelengthView.of(trace, pair)
        stage.figure(
            rotation.draw_wavelengths(view, labels, max(300, drawn.layout.height)),
            "lengths",
            stage.words("rope_lengths_alt"),
        )
        st.caption(stage.words("rope_lengths_note"))
    stage.see("rope_frequencies", **said)


def _proof(stage: Stage, pair: int) -> rotation.OffsetView:
    """Both positions moved by the same amount: every score stays."""
    trace, view = stage.trace, stage.view
    st.subheader(stage.words("rope_proof"), anchor=False)
    chosen, moved = st.columns(2, gap="large")
    with chosen:
        key = common.choose_key(stage)
    with moved:
        shift = common.index(stage, "shift", MAX_SHIFT, 5)
    proof = rotation.OffsetView.of(trace, view.layer, view.head, stage.token, key, pair, shift)
    plane, curve = st.columns(2, gap="large")
    with plane:
        labels = common.words(stage, "rope", "value", "position")
        labels |= {"query": stage.words("role_query"), "key": stage.words("role_key")}
        stage.figure(rotation.draw_shift(proof, labels), "moved", stage.words("rope_shift_alt"))
        st.caption(stage.words("rope_shift_note", pair=pair))
    with curve:
        names = ("offset", "score", "recorded", "shifted")
        stage.figure(
            rotation.draw_offsets(proof, common.words(stage, "rope", *names)),
            "offsets",
            stage.words("rope_offsets_alt"),
        )
        stage.source(stage.at("attn.scores"))
    stage.see(
        "rope_proof",
        token=stage.token_name(),
        key=stage.token_name(proof.key),
        query_at=proof.query,
        key_at=proof.key,
        query_to=proof.query + shift,
        key_to=proof.key + shift,
        offset=proof.query - proof.key,
        recorded=f"{proof.recorded:.6f}",
        shifted=f"{proof.shifted:.6f}",
        shift=shift,
        scores=f"{len(trace) ** 2:,}",
        largest=f"{proof.largest:.0e}",
    )
    return proof


def _tables(stage: Stage, found: analysis.Frequencies) -> None:
    trace, view = stage.trace, stage.view
    pairs = [analysis.rotated_columns(trace, pair) for pair in range(len(found.used))]
    stage.records(
        "rope_frequencies",
        {
            "pair": range(len(pairs)),
            "values": [f"{a}, {b}" for a, b in pairs],
            "radians": found.used.tolist(),
            "radians_unscaled": found.unscaled.tolist(),
            "wavelength": found.wavelengths.tolist(),
        },
    )
    columns = [str(n) for n in range(stage.lm.config.d_head)]
    for letter in "qk":
        for name in (analysis.unrotated_site(trace, view.layer, letter), stage.at(f"attn.{letter}_rotated")):
            values = trace.head(name, view.head).numpy()
            stage.table(
                f"{name}[{_read(stage, 'query' if letter == 'q' else 'key')}]",
                values,
                stage.token_labels,
                columns,
                name,
            )
