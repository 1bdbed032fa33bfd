"""The sentences, their ids as a rectangle, and the mask that says which of them are real."""

from __future__ import annotations

from typing import Any

import streamlit as st

from viz_model.app import elements
from viz_model.topics.batch.choices import MOST_CHARACTERS, SIZE, TEXTS
from viz_model.topics.batch.numbers.run import MOST_TOKENS, PADDING
from viz_model.topics.batch.pictures.tables import draw_tables, ids_view, mask_view
from viz_model.topics.batch.sections.batched import Batched, sizes


def section(batched: Batched) -> None:
    page = batched.page
    size = page.chosen(SIZE)
    columns = st.columns([1, *[2] * 3], vertical_alignment="bottom")
    with columns[0]:
        elements.control(page, SIZE, st.segmented_control, [2, 3, 4], required=True)
    for n, (choice, text) in enumerate(zip(TEXTS, batched.texts, strict=True)):
        with columns[n + 1]:
            more: dict[str, Any] = {"max_chars": MOST_CHARACTERS, "disabled": n + 1 >= size, "help": None}
            elements.control(page, choice, st.text_input, value=text, label=page.words("text", n=n + 1), **more)
    for why in batched.refused:
        st.info(page.words("refused", why=why), icon=":material/edit:")
    picture, see = elements.split()
    with picture:
        _draw(batched)
    with see:
        _tell(batched)


def _draw(batched: Batched) -> None:
    page, run, words = batched.page, batched.run, batched.page.words
    stacks = [("source" if run.target_ids is not None else "ids", run.ids, run.padding)]
    if run.target_ids is not None:
        stacks.append(("target", run.target_ids, run.beyond))
    for name, ids, padding in stacks:
        shape = sizes("BT", ids.shape)
        tables = [ids_view(words(name, shape=shape), batched.names, ids, padding, batched.labels(ids, padding))]
        if name != "target":  # which only looks back, and needs no mask of its padding
            tables.append(mask_view(words("mask", shape=shape), batched.names, padding))
        figure = draw_tables(tables, positions=words("position"))
        elements.figure(page, figure, name, words(f"{name}_alt", rows=len(ids), columns=ids.shape[1]))


def _tell(batched: Batched) -> None:
    page, run, rows = batched.page, batched.run, batched.rows
    n_rows, length = run.ids.shape
    n_real = int((~run.padding).sum())
    facts = {
        "rows": n_rows,
        "length": length,
        "n_real": n_real,
        "n_padding": int(run.padding.sum()),
        "n_places": n_rows * length,
        "share": f"{run.padding.mean():.0%}",
        "id": PADDING,
    }
    st.subheader(page.words("title" if run.padding.any() else "title_none", **facts), anchor=False)
    elements.see(page, **facts)
    elements.see(page, f"see_{page.lm.config.kind}", **facts)
    if any(row.hidden is not None for row in rows):
        elements.see(page, "see_hidden")
    cut = [n for n, row in enumerate(rows) if row.run.n_dropped]
    if cut:
        st.caption(page.words("cut", most=MOST_TOKENS, rows=page.listed(map(str, cut))))
    if page.trace.edits:
        st.caption(page.words("plain"))
