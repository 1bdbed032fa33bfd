"""Dropout wherever Transformers have it while they are trained: its masks, and what it does to the output."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_model.app import elements, run_lock, runs
from viz_model.app.page import Page
from viz_model.drawing import strips
from viz_model.texts.markdown import literal
from viz_model.topics.block.choices import DROPOUT, DROPPED, RATE, SEED
from viz_model.topics.block.numbers.dropout import PLACES, Kept, Place, dropped
from viz_model.topics.block.numbers.dropout import places as here
from viz_model.topics.block.sections.one_block import OneBlock
from viz_model.topics.block.sections.what_if import before_and_after


def section(block: OneBlock) -> None:
    elements.fold(block.page, DROPOUT, partial(_inside, block.page))


def _inside(page: Page) -> None:
    elements.see(page, "dropout", token=page.token_name(), layer=page.view.layer)
    names = {place: page.words(f"dropped_{place}") for place in here(page.lm.config)}
    chosen = tuple(place for place in page.chosen(DROPPED) if place in names)
    places = elements.control(page, DROPPED, st.pills, list(names), value=chosen, selection_mode="multi", read=tuple,
                              write=list, help=None, format_func=names.__getitem__)  # fmt: skip
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    rate = elements.control(page, RATE, left.slider, 0.0, 0.9, step=0.05, help=None)
    seed = elements.control(page, SEED, right.number_input, 0, 999, help=None)
    before = runs.trace(page.run_key.plain).at(page.trace.stack.side)
    with run_lock.RUNNING:
        after, kept = dropped(before, places, rate, seed)
    for place in places:
        _draw(page, kept, place)
    before_and_after(page, before, after, "dropout")


def _draw(page: Page, kept: Kept, place: Place) -> None:
    """How much was dropped at a place; and at the chosen token in this block what was there, the mask, what is left."""
    masks = [seen.mask for name, seen in kept.items() if name.endswith(PLACES[place])]
    share = sum(int((mask == 0).sum()) for mask in masks) / sum(mask.size for mask in masks)
    factor = max(float(mask.max()) for mask in masks)
    facts = {"place": page.words(f"dropped_{place}"), "share": f"{share:.1%}", "factor": f"{factor:.3g}"}
    st.markdown(page.words("dropped_at", n_values=len(masks), **facts))
    for end in PLACES[place]:
        view = _rows(page, kept, place, end, factor)
        if view is None:
            continue
        _, mask, _ = (strip.values for strip in view.strips)
        zeros = page.words("zeroed", zeros=int((mask == 0).sum()), n=mask.size)
        st.caption(f"{literal(_name(page, place, end))} · {zeros}")
        drawn = partial(_rows, kept=kept, place=place, end=end, factor=factor)
        elements.heat_rows(page, drawn, f"dropped_{end}", page.words("dropped_alt"), own=False)


def _name(page: Page, place: Place, end: str) -> str:
    return page.trace.full_name(end if place == "sum" else page.at(end))


def _rows(page: Page, kept: Kept, place: Place, end: str, factor: float) -> strips.StripsView | None:
    """What was there, the mask and what is left; None where this block has no such place, as cross-attention."""
    if (name := _name(page, place, end)) not in kept:
        return None
    seen, head = kept[name], page.view.head if place == "weights" else ...
    before, mask, after = (of[head][page.token] for of in (seen.before, seen.mask, seen.after))
    top = strips.top_of(after)
    rows = (
        strips.Strip(page.words("before_drop"), before, top=top),
        strips.Strip(page.words("mask"), mask, "share", factor or 1.0, "norm"),
        strips.Strip(page.words("after_drop"), after, top=top),
    )
    return strips.StripsView(rows, tuple(map(str, range(mask.size))), 190)
