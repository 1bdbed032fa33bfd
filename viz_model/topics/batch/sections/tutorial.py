"""A tutorial's batch of four pieces of 16 ids, looked up in a table of the size that it has there."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from viz_model.app import elements
from viz_model.drawing import heatmap
from viz_model.drawing.heatmap import HeatmapView
from viz_model.texts.markdown import literal
from viz_model.topics.batch.choices import PIECE
from viz_model.topics.batch.numbers.tutorial import PRINTED, ROWS, lookup
from viz_model.topics.batch.pictures.tables import draw_tables, ids_view
from viz_model.topics.batch.sections.batched import Batched, sizes


def section(batched: Batched) -> None:
    page, words, found = batched.page, batched.page.words, lookup()
    shape = found.vectors.shape
    elements.see(page, "tutorial", rows=f"{ROWS:,}", width=shape[2])
    names = tuple(words("row", n=n) for n in range(len(found.ids)))
    nothing = np.zeros_like(found.ids, dtype=bool)
    view = ids_view(words("tutorial_ids", shape=sizes("BT", found.ids.shape)), names, found.ids, nothing, found.labels)
    figure = draw_tables([view], positions=words("position"))
    elements.figure(page, figure, "tutorial", words("tutorial_alt"))
    picture, see = elements.split()
    with picture:
        options: dict[str, Any] = {"required": True, "help": None, "format_func": names.__getitem__}
        piece = elements.control(page, PIECE, st.segmented_control, list(range(len(names))), **options)
        rows = tuple(f"{id} {label}" for id, label in zip(found.ids[piece], found.labels[piece], strict=True))
        columns = tuple(map(str, range(shape[2])))
        axes = words("position"), page.t("common.axis_dimension")
        picked = HeatmapView(found.vectors[piece], rows, columns, "E", "residual", "signed", *axes)
        title = words("tutorial_rows", shape=sizes("BTD", shape), n=piece)
        elements.figure(page, heatmap.draw(picked, title=title, cell=20), "tutorial.rows", words("tutorial_rows_alt"))
    with see:
        own = " ".join(map(str, found.ids[0, :3]))
        printed = " ".join(map(str, found.printed[:3]))
        slip = {"own_text": literal(found.labels[0][0] + found.labels[0][1]), "printed_text": literal(PRINTED[:4])}
        text = literal("".join(found.labels[piece]))
        elements.see(page, "tutorial_slip", own=own, printed=printed, text=text, **slip)
