"""A sub-layer of this block left out, or a neuron held at a value: edits of the view, with before and after."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

import viz_model as vm
from viz_model.app import elements, interventions, runs, state
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.runs import edits
from viz_model.runs.edits import Edit, SetNeuron, Skip
from viz_model.texts.markdown import literal
from viz_model.topics.ablations.claims import GUESSES
from viz_model.topics.ablations.numbers import views
from viz_model.topics.ablations.pictures.guesses import draw_guesses
from viz_model.topics.ablations.pictures.places import draw_places
from viz_model.topics.block.choices import VALUE
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    page = block.page
    st.subheader(page.words("what_if"), anchor=False)
    elements.told(page, _tell, "what_if_told")
    side = page.view.stack(page.lm.config)
    stack = None if side == page.lm.config.sides[-1] else side
    _left_out(block, stack)
    if block.n_neurons:
        _held(block, stack)
    if page.trace.edits:
        changes = page.listed(interventions.describe(edit, page.t) for edit in page.trace.edits)
        st.caption(page.words("made", changes=changes))
        before = runs.trace(page.run_key.plain).at(page.trace.stack.side)
        before_and_after(page, before, page.trace, "edited")


def _tell(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    yield page.prose("what_if" if block.n_neurons else "what_if_none", **block.facts)


def _left_out(block: OneBlock, stack: Side | None) -> None:
    """A switch for each sub-layer."""
    page = block.page
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for part in (addition.sublayer for addition in block.vectors.sums):
            skip = Skip(layer=page.view.layer, part=part, side=stack)
            st.toggle(
                page.words("skip", part=page.words(f"part_{part}")),
                value=skip in page.trace.edits,
                key=f"block.skip.{part}.{skip in page.trace.edits}",
                on_change=_toggle,
                args=(page, skip),
            )


def _held(block: OneBlock, stack: Side | None) -> None:
    """The neuron of the section above, the value at which it may be held, and a button that does it."""
    page, neuron, row = block.page, block.neuron, st.container(horizontal=True, vertical_alignment="bottom")
    now = float(page.trace.row(page.at("ffn.act"), page.token)[neuron])
    most, label = edits.LARGEST_ACTIVATION, page.words("set_value", neuron=neuron, now=f"{now:.2f}")
    value = elements.control(page, VALUE, row.number_input, -most, most, label=label, help=None, step=1.0, width=260)
    edit = SetNeuron(layer=page.view.layer, neuron=neuron, value=value, position=page.token, side=stack)
    is_made = edit in page.trace.edits
    row.button(page.words("set"), key="block.set", on_click=_set, args=(page, edit), disabled=is_made)


def _toggle(page: Page, edit: Edit) -> None:
    if len(page.view.edits) < edits.MOST_EDITS or edit in page.view.edits:
        state.update(edits=interventions.toggled(page.view, edit))


def _set(page: Page, edit: SetNeuron) -> None:
    """The neuron is held at this value from now on, and at no other on this token."""
    place = edit.layer, edit.neuron, edit.position, edit.side
    rest = tuple(
        e
        for e in page.view.edits
        if not (isinstance(e, SetNeuron) and (e.layer, e.neuron, e.position, e.side) == place)
    )
    if len(rest) < edits.MOST_EDITS:
        state.update(edits=(*rest, edit))


def before_and_after(page: Page, before: vm.Trace, after: vm.Trace, key: str) -> None:
    """What a run and the same with a change expect; of a stack without predictions, how its vectors turned."""
    if "logits" not in before:
        places = views.places_view(before, after, page.token)
        turn = page.words("turn")
        elements.figure(
            page,
            lambda page: draw_places(places._replace(token=page.token), turn),
            f"places_{key}",
            turn,
            by=("token",),
        )
        elements.source(page, places.site)
        return
    view = views.guesses_view(before, after, page.token)
    names = {name: page.words(name) for name in ("before", "after")}
    facts = {"before": literal(view.labels[view.best[0]]), "after": literal(view.labels[view.best[1]])}
    st.markdown(f"**{GUESSES.says(page.t.language, view, token=page.token_name(), **view.facts(), **facts)}**")
    elements.figure(
        page,
        lambda page: draw_guesses(views.guesses_view(before, after, page.token), names),
        f"guesses_{key}",
        page.words("guesses_alt"),
        by=("token",),
    )
