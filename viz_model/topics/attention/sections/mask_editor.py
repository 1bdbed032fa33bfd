"""Another mask, and heads switched off: the controls, and the run that they ask for.

What an edit can say is an edit of the view, so that it holds on every page and stands in the address: heads that
are off, no mask, and cells turned over by hand. Other masks belong to this page alone.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TypeGuard

import streamlit as st

import viz_model as vm
from viz_model.app import components, controls, runs, state, texts
from viz_model.app.page import Stage
from viz_model.app.state import ViewState
from viz_model.config import Side
from viz_model.drawing import strips, theme
from viz_model.drawing.spans import around
from viz_model.runs import edits
from viz_model.runs.edits import AblateHead, Edit, FlipMask, NoMask
from viz_model.topics.ablations.pictures import change
from viz_model.topics.attention.numbers import masks
from viz_model.topics.attention.pictures import attention

DRAWN = 16
"""Positions along a side of the square that can be drawn in."""


def section(stage: Stage) -> None:
    """The controls, and below them what the run with them changed."""
    words, view = stage.words, stage.view
    st.subheader(words("what_if"), anchor=False)
    stage.see("what_if", layer=view.layer)
    mask, before, changed = run(stage)
    if changed is None:
        return
    names = {name: words(name) for name in ("before", "after")}
    left, right = st.columns(2, gap="large")
    with left:
        if not mask.is_own:
            _pattern(stage, changed)
        if heads_off(view, stage):
            written = change.WrittenView.of(before, changed, view.layer, stage.token)
            axes = {"head": stage.t("common.axis_head"), "length": words("written_length")}
            stage.figure(change.draw_written(written, names | axes, view.head), "written", words("written_alt"))
            stage.source(stage.at("attn.head_out"))
            stage.see("change_off")
    with right:
        if stage.lm.config.has_logits:
            _guesses(stage, before, changed, names)
    places = change.PlacesView.of(before, changed, stage.token)
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
    stage.strips(strips.matrix(large), "under_mask", alt, own=False)
    stage.source(stage.at("attn.pattern"))


def _guesses(stage: Stage, before: vm.Trace, after: vm.Trace, names: dict[str, str]) -> None:
    """The predictions at the selected token; of an encoder that feeds a decoder, the decoder's last."""
    position = stage.token
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


def run(stage: Stage) -> tuple[masks.MaskChoice, vm.Trace, vm.Trace | None]:
    """The mask that a visitor chose; the run without what is chosen here, and with it, seen from the page's stack.

    The latter is None where nothing is chosen, or where a drawn mask leaves a token with nothing to see,
    which is then said.
    """
    mask = _mask(stage)
    _off(stage)
    before = _before(stage)
    if mask.is_own or _is_edit(mask, stage):
        return mask, before, None if before is stage.trace else stage.trace
    side, trace = stage.view.stack(stage.lm.config), stage.trace
    visible = masks.build(mask, side, len(trace))
    if visible is not None and (blind := masks.blind(visible)):
        names = ", ".join(f"{position} {stage.token_name(position)}" for position in blind[:5])
        st.error(stage.words("blind", tokens=names), icon=":material/visibility_off:")
        return mask, before, None
    return mask, before, runs.changed(stage.asked, side, mask, stage.view.layer, ()).at(side)


def _before(stage: Stage) -> vm.Trace:
    """The run without the edits that are made here."""
    rest = [edit for edit in stage.trace.edits if not _is_made_here(edit, stage)]
    if len(rest) == len(stage.trace.edits):
        return stage.trace
    try:
        run = runs.trace(stage.asked._replace(edits=edits.write(rest)))
    except ValueError:  # an edit that could only be made after one of these
        run = runs.trace(stage.asked.plain)
    return run.at(stage.trace.stack.side)


def _is_made_here(edit: Edit, stage: Stage) -> bool:
    """Whether the controls of this section say so too."""
    return _is_head(edit, stage) or _is_cell(edit, stage) or _opens(edit, stage)


def _is_here(edit: AblateHead | FlipMask | NoMask, stage: Stage) -> bool:
    """Whether an edit is of the stack that the page shows."""
    return (edit.side or stage.lm.config.sides[-1]) == stage.view.stack(stage.lm.config)


def _is_head(edit: Edit, stage: Stage) -> TypeGuard[AblateHead]:
    own = isinstance(edit, AblateHead) and edit.attention == "attn" and edit.to == "zero"
    return own and edit.layer == stage.view.layer and _is_here(edit, stage)  # type: ignore[arg-type, attr-defined]


def _is_cell(edit: Edit, stage: Stage) -> TypeGuard[FlipMask]:
    return isinstance(edit, FlipMask) and edit.layer is None and edit.key is not None and _is_here(edit, stage)


def _opens(edit: Edit, stage: Stage) -> bool:
    return isinstance(edit, NoMask) and (edit.side is None or _is_here(edit, stage))


def _side(stage: Stage) -> Side | None:
    """The page's stack for an edit; None is the one that the output comes from."""
    side = stage.view.stack(stage.lm.config)
    return None if side == stage.lm.config.sides[-1] else side


def _windowed(stage: Stage) -> bool:
    """Whether some layer has a mask of its own: drawing starts from a mask that all layers share."""
    config, side = stage.lm.config, stage.view.stack(stage.lm.config)
    return any(config.window(side, layer) for layer in range(config.depth(side)))


def _is_edit(mask: masks.MaskChoice, stage: Stage) -> bool:
    """Whether the chosen mask is one that the view's edits have made already."""
    if mask.name == "none":
        return any(_opens(edit, stage) for edit in stage.trace.edits)
    cells = tuple(sorted((edit.query, edit.key) for edit in stage.trace.edits if _is_cell(edit, stage)))
    return mask.name == "drawn" and bool(cells) and cells == mask.flipped


def _put(stage: Stage, name: str, cells: Sequence[tuple[int, int]]) -> bool:
    """Make the view's edits say which mask it is, as far as edits can; whether that changed them."""
    rest = [edit for edit in stage.view.edits if not (_opens(edit, stage) or _is_cell(edit, stage))]
    side = _side(stage)
    if name == "none":
        rest.append(NoMask(side=stage.view.stack(stage.lm.config) if len(stage.lm.config.sides) > 1 else None))
    if name == "drawn" and not _windowed(stage) and len(rest) + len(cells) <= edits.MOST_EDITS:
        visible = masks.build(masks.MaskChoice("drawn", flipped=tuple(cells)), stage.trace.stack.side, len(stage.trace))
        if visible is not None and not masks.blind(visible):
            rest += [FlipMask(query=query, key=key, side=side) for query, key in cells]
    if tuple(rest) == stage.view.edits:
        return False
    state.put(edits=tuple(rest))
    return True


def _mask(stage: Stage) -> masks.MaskChoice:
    length, side = len(stage.trace), stage.view.stack(stage.lm.config)
    key, drawn = f"{stage.name}.masks", f"{stage.name}.flipped.{side}"
    _follow(stage, key, drawn)

    def chosen() -> None:
        if _put(stage, st.session_state[key], st.session_state.get(drawn, ())):
            state.run_again()

    name = controls.choose(stage, "masks", masks.options(stage.lm.config, side, length), "own", on_change=chosen)
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


def _follow(stage: Stage, key: str, drawn: str) -> None:
    """The controls as the view's edits have them, where those were changed elsewhere: in the address, by a chip."""
    opened = any(_opens(edit, stage) for edit in stage.trace.edits)
    cells = tuple(sorted((edit.query, edit.key) for edit in stage.trace.edits if _is_cell(edit, stage)))
    seen, now = f"{drawn}.seen", (opened, cells)
    if st.session_state.get(seen, (False, ())) == now:
        return
    st.session_state[seen] = now
    if cells:
        st.session_state[drawn] = cells
    name = "none" if opened else "drawn" if cells else None
    if name is not None:
        st.session_state[key] = name
    elif st.session_state.get(key) in ("none", "drawn"):
        st.session_state[key] = "own"


def heads_off(view: ViewState, stage: Stage) -> tuple[int, ...]:
    """The heads of the shown layer that the view has switched off."""
    return tuple(sorted({edit.head for edit in view.edits if _is_head(edit, stage)}))


def _off(stage: Stage) -> None:
    """Heads of the shown layer; every layer has its own choice, and all of them are made."""
    view = stage.view
    side = view.stack(stage.lm.config)
    key = f"attention.off.{view.model}.{side}.{view.layer}"
    state.follow(key, list(heads_off(view, stage)))

    def chosen() -> None:
        rest = tuple(edit for edit in view.edits if not _is_head(edit, stage))
        heads = sorted(st.session_state[key])[: edits.MOST_EDITS - len(rest)]
        off = (AblateHead(layer=view.layer, head=head, side=_side(stage)) for head in heads)
        state.update(edits=(*rest, *off))

    st.pills(
        stage.words("off_heads", layer=view.layer),
        list(range(stage.lm.config.n_heads)),
        selection_mode="multi",
        wrap=True,
        key=key,
        help=stage.words("off_heads_help"),
        on_change=chosen,
    )


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
    shown = around(stage.token, length, DRAWN)
    words = {name: stage.words(f"draw_{name}") for name in ("label", "corner", "hint", "sees", "hidden")}
    data = {
        "labels": stage.token_labels[shown],
        "seen": ["".join("01"[cell] for cell in row) for row in visible[shown, shown].tolist()],
        "blind": [position - shown.start for position in masks.blind(visible)],
        "first": shown.start,
        "colours": {"sees": theme.ROLES["pattern"], "hidden": theme.MASKED},
        "words": words,
    }
    components.mask(data, key="attention.mask", on_pick=functools.partial(_turn, stage, key, length))
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        stage.words("draw_again"),
        key="attention.draw_again",
        on_click=_again,
        args=(stage, key),
        disabled=not flipped,
    )
    if length > DRAWN:
        row.caption(stage.words("draw_part", first=shown.start, last=shown.stop - 1))
    return flipped


def _turn(stage: Stage, key: str, length: int, cells: list[list[int]]) -> None:
    asked = [(query, key_) for query, key_ in cells if 0 <= query < length and 0 <= key_ < length]
    st.session_state[key] = masks.flip(st.session_state.get(key, ()), asked)
    _drawn(stage, key)


def _again(stage: Stage, key: str) -> None:
    st.session_state[key] = ()
    _drawn(stage, key)


def _drawn(stage: Stage, key: str) -> None:
    """A drawing that is empty, or cannot be run for now, is still a drawing."""
    changed = _put(stage, "drawn", st.session_state[key])
    edits = state.current().edits
    cells = tuple(sorted((e.query, e.key) for e in edits if isinstance(e, FlipMask) and e.key is not None))
    st.session_state[f"{key}.seen"] = (False, cells)
    if changed:
        state.run_again()
