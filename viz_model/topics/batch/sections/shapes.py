"""The batch through the model: its shapes, and each row beside the sentence alone."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.drawing.writing import small
from viz_model.topics.batch.claims import ALONE, OPEN, Gap
from viz_model.topics.batch.pictures.shapes import Stage, draw_shapes
from viz_model.topics.batch.sections.batched import Batched, sizes


def section(batched: Batched) -> None:
    page, run, words = batched.page, batched.run, batched.page.words
    config = page.lm.config
    st.subheader(words("shapes_title"), anchor=False)
    picture, see = elements.split()
    with picture:
        (n_rows, length), width = run.ids.shape, config.d_model
        stages = [
            Stage(words("stage_ids"), sizes("BT", run.ids.shape), 0.18, "token"),
            Stage(words("stage_rows"), sizes("BTD", (n_rows, length, width)), 0.8, "residual", words("step_look_up")),
            Stage(words("stage_vectors"), _width(batched), 0.8, "residual", words("step_blocks", n=_depth(batched))),
        ]
        if config.has_logits:
            stages.append(Stage("logits", sizes("BTV", run.shape), 1.5, "output", words("step_logits")))
        elements.figure(page, draw_shapes(stages, n_rows), "shapes", words("shapes_alt"))
    with see:
        output = words("logits" if config.has_logits else "vectors")
        for verdict, gaps in ((ALONE, run.gaps), (OPEN, run.open_gaps)):
            gap = Gap(float(gaps.max()), run.largest, run.n_padding)
            numbers = {"gap": small(gap.gap), "largest": f"{gap.largest:.3g}"}
            elements.say(page, verdict, gap, output=output, **numbers)
        elements.see(page, f"shapes_{config.kind}")


def _width(batched: Batched) -> str:
    return sizes("BTD", (*batched.run.shape[:2], batched.page.lm.config.d_model))


def _depth(batched: Batched) -> int:
    config = batched.page.lm.config
    return sum(config.depth(side) for side in config.sides)
