"""Another mask, and heads switched off: the controls, and the run that they ask for."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import streamlit as st

import viz_model as vm
from viz_model.analysis import masks
from viz_model.figures import attention, change, heatmap, theme
from viz_model.ui import components, controls, runs, texts
from viz_model.ui.stage import Stage

DRAWN = 16
"""Positions along a side of the square that can be drawn in."""


def section(stage: Stage) -> None:
    """The controls, and below them what the run with them changed."""
    words, view = stage.words, stage.view
    st.subheader(words("what_if"), anchor=False)
    stage.see("what_if", layer=view.layer)
    mask, off, changed = run(stage)
    if changed is None:
        return
    names = {name: words(name) for name in ("before", "after")}
    left, right = st.columns(2, gap="large")
    with left:
        if not mask.is_own:
            _pattern(stage, changed)
        if off:
            written = change.WrittenView.of(stage.trace, changed, view.layer, stage.token)
            axes = {"head": stage.t("common.axis_head"), "length": words("written_length")}
            stage.figure(change.draw_written(written, names | axes, view.head), "written", words("written_alt"))
            stage.source(stage.at("attn.head_out"))
            stage.see("change_off")
    with right:
        if stage.lm.config.has_logits:
            _guesses(stage, changed, names)
    places = change.PlacesView.of(stage.trace, changed, stage.token)
    facts = {"token": stage.token_name(), **places.facts()}
    with st.container() if stage.lm.config.has_logits else right:
        st.markdown(f"**{words('places_title', **facts)}**")
        measure = words(f"places_{places.measure}")
        stage.figure(change.draw_places(places, measure), "places", words("places_alt"))
        stage.source(places.site)
        if places.measure == "turn":
            stage.see("change_source" if stage.lm.config.has_logits else "change_vectors", **facts)


def _pattern(stage: Stage, changed: vm.Trace) -> None:
    view = stage.view
    st.markdown(f"**{stage.words('under_mask', head=view.head, layer=view.layer)}**")
    axes = stage.t("common.axis_query"), stage.t("common.axis_key")
    large = attention.head_view(changed, view.layer, view.head, stage.token, axes)
    alt = stage.words("head_alt", head=view.head, layer=view.layer)
    stage.figure(heatmap.draw(large, square=True), "under_mask", alt, own=False)
    stage.source(stage.at("attn.pattern"))


def _guesses(stage: Stage, changed: vm.Trace, names: dict[str, str]) -> None:
    """The predictions at the selected token; of an encoder that feeds a decoder, the decoder's last."""
    before, after, position = stage.trace, changed, stage.token
    if "logits" not in before:
        before, after = before.at("decoder"), after.at("decoder")
        position = len(before) - 1
    found = change.GuessesView.of(before, after, position)
    token = texts.literal(before.tokens[position].label)
    said = {
        "where": stage.words("where_at" if stage.lm.config.kind == "encoder" else "where_after", token=token),
        "before": texts.literal(found.labels[found.best[0]]),
        "after": texts.literal(found.labels[found.best[1]]),
        **found.facts(),
    }
    st.markdown(f"**{stage.words(f'title_{found.outcome}', **said)}**")
    stage.figure(change.draw_guesses(found, names), "guesses", stage.words("guesses_alt"))
    st.caption(f"{stage.t.site_label(before.site('probs'))} {texts.literal('probs')}")
    stage.see("change_same" if found.outcome == "same" else "change_guesses", **said)


def run(stage: Stage) -> tuple[masks.MaskChoice, tuple[int, ...], vm.Trace | None]:
    """The mask and the heads that a visitor chose, and the run with them, seen from the page's stack.

    The run is None where nothing differs from the model as it is, or where a drawn mask leaves a
    token with nothing to see, which is then said.
    """
    mask, off = _mask(stage), _off(stage)
    if mask.is_own and not off:
        return mask, off, None
    side, trace = stage.view.stack(stage.lm.config), stage.trace
    visible = masks.build(mask, side, len(trace))
    if visible is not None and (blind := masks.blind(visible)):
        names = ", ".join(f"{position} {stage.token_name(position)}" for position in blind[:5])
        st.error(stage.words("blind", tokens=names), icon=":material/visibility_off:")
        return mask, off, None
    return mask, off, runs.changed(stage.asked, side, mask, stage.view.layer, off).at(side)


def _mask(stage: Stage) -> masks.MaskChoice:
    length, side = len(stage.trace), stage.view.stack(stage.lm.config)
    name = controls.choose(stage, "masks", masks.options(stage.lm.config, side, length), "own")
    choice = masks.MaskChoice(name)
    if name == "padding":
        choice = choice._replace(n_padding=_slider(stage, "n_padding", 1, length - 1, choice.n_padding))
    if name in ("window", "global"):
        choice = choice._replace(size=_slider(stage, "size", 1, length, choice.size))
    if name == "global":
        choice = choice._replace(chosen=_positions(stage, choice.chosen))
    if name == "drawn":
        choice = choice._replace(flipped=_draw(stage))
    st.caption(stage.words(f"masks_{name}_note"))
    return choice


def _off(stage: Stage) -> tuple[int, ...]:
    """Heads of the shown layer; every layer has its own choice, and only the shown one's is made."""
    view = stage.view
    off = st.pills(
        stage.words("off_heads", layer=view.layer),
        list(range(stage.lm.config.n_heads)),
        selection_mode="multi",
        wrap=True,
        key=f"attention.off.{view.model}.{view.stack(stage.lm.config)}.{view.layer}",
        help=stage.words("off_heads_help"),
        persist_state="session",
    )
    return tuple(sorted(off))


def _slider(stage: Stage, name: str, low: int, high: int, default: int) -> int:
    if low == high:
        return low
    key = f"{stage.name}.{name}"
    fitted = min(max(st.session_state.get(key, default), low), high)  # the sentence may have become shorter
    if st.session_state.get(key) != fitted:
        st.session_state[key] = fitted
    return int(controls.setting(stage, st.slider, name, low, high))


def _positions(stage: Stage, default: Iterable[int]) -> tuple[int, ...]:
    key, labels = f"{stage.name}.chosen", stage.token_labels
    fitted = [position for position in st.session_state.get(key, default) if position < len(labels)]
    if st.session_state.get(key) != fitted:
        st.session_state[key] = fitted
    every = list(range(len(labels)))
    chosen = controls.setting(
        stage, st.multiselect, "chosen", every, format_func=lambda position: f"{position}: {labels[position]}"
    )
    return tuple(sorted(chosen))


def _draw(stage: Stage) -> tuple[tuple[int, int], ...]:
    """The cells turned over by hand, in a square of the mask around the selected token."""
    side, length = stage.view.stack(stage.lm.config), len(stage.trace)
    key = f"{stage.name}.flipped.{side}"
    flipped = tuple(cell for cell in st.session_state.get(key, ()) if max(cell) < length)
    visible = masks.build(masks.MaskChoice("drawn", flipped=flipped), side, length)
    assert visible is not None  # only the model's own mask is not built
    shown = attention.around(stage.token, length, DRAWN)
    words = {name: stage.words(f"draw_{name}") for name in ("label", "corner", "hint", "sees", "hidden")}
    data = {
        "labels": stage.token_labels[shown],
        "seen": ["".join("01"[cell] for cell in row) for row in visible[shown, shown].tolist()],
        "blind": [position - shown.start for position in masks.blind(visible)],
        "first": shown.start,
        "colours": {"sees": theme.ROLES["pattern"], "hidden": theme.MASKED},
        "words": words,
    }
    components.mask(data, key="attention.mask", on_pick=functools.partial(_turn, key, length))
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        stage.words("draw_again"),
        key="attention.draw_again",
        on_click=st.session_state.update,
        args=({key: ()},),
        disabled=not flipped,
    )
    if length > DRAWN:
        row.caption(stage.words("draw_part", first=shown.start, last=shown.stop - 1))
    return flipped


def _turn(key: str, length: int, cells: list[list[int]]) -> None:
    asked = [(query, key_) for query, key_ in cells if 0 <= query < length and 0 <= key_ < length]
    st.session_state[key] = masks.flip(st.session_state.get(key, ()), asked)
