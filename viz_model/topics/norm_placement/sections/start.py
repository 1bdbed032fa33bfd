"""The gradient before any training, against depth."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from viz_model.app import alone, components, elements, saving, state
from viz_model.drawing import plot
from viz_model.drawing.scene import Scene, encode
from viz_model.texts import Texts
from viz_model.topics.norm_placement import claims
from viz_model.topics.norm_placement.numbers.depth import PLACES, THEORY
from viz_model.topics.norm_placement.pictures import look, start
from viz_model.topics.norm_placement.sections.comparison import Comparison
from viz_model.topics.norm_placement.sections.fresh import gradients_at_start

PAGE = "norm_placement"
FIGURES = ("start", "by_block")


def section(shown: Comparison) -> None:
    st.subheader(shown.page.words("part_start"), anchor=False)
    elements.see(shown.page, "part_start")
    _measured(shown.page.t)
    for name in FIGURES:
        alone.meet(shown.page, f"{PAGE}.{name}")
        saving.answer(shown.page, partial(_saved, name, shown.page.t), f"{PAGE}.{name}", own=False)


def _scene(name: str, view: start.StartView, t: Texts) -> Scene:
    depth, axis, block = (t(f"{PAGE}.{key}") for key in ("depth", "w2_gradient", "block"))
    if name == "start":
        figure = start.draw_start(view, depth, axis, t(f"{PAGE}.theory"))
    else:
        figure = start.draw_by_block(view, block, axis)
    return plot.scene(figure, f"{PAGE}.{name}", t(f"{PAGE}.{name}_alt"))


def _saved(name: str, t: Texts, _: int) -> Scene:
    return _scene(name, start.StartView.of(gradients_at_start()), t)


# In parallel, because the first visitor of a server waits seconds for it. Of the page it is given
# the language alone: a fragment is kept with what it was given, and a trace is large.
@st.fragment(parallel=True)
def _measured(t: Texts) -> None:
    place = st.empty()
    place.caption(t(f"{PAGE}.start_measuring"))
    view = start.StartView.of(gradients_at_start())
    facts = view.facts()
    for at in PLACES:
        theory = claims.Law(view.fits[at], THEORY[at])
        blocks = view.blocks(at)
        ends = claims.Across(float(blocks[0]), float(blocks[-1]))
        facts[f"{at}_law"] = claims.EXPONENT.says(t.language, theory, theory=facts[f"{at}_theory"])
        facts[f"{at}_ends"] = claims.BLOCKS.says(t.language, ends, blocks=facts[f"{at}_blocks"])
    with place.container():
        for column, name in zip(st.columns(2, gap="large"), FIGURES, strict=True):
            with column:
                st.markdown(f"#### {t(f'{PAGE}.{name}_title', **facts)}")
                # A menu cannot be opened here, beside the page's own run: its body opens it.
                key = f"{PAGE}.{name}"
                scene, menu = saving.with_menu(_scene(name, view, t), t), saving.ask(PAGE, key, state.BODY)
                components.picture(encode(scene), key=key, on_menu=menu)
                st.markdown(t.prose(f"{PAGE}.{name}", **facts))
        with st.expander(t(f"{PAGE}.start_why")):
            st.markdown(t.prose(f"{PAGE}.start_why", **facts))
        with st.expander(t(f"{PAGE}.start_numbers")):
            seeds = range(len(view.table().T) // len(PLACES))
            columns = [f"{look.NAMES[place]}, {t(f'{PAGE}.seed')} {n}" for place in PLACES for n in seeds]
            st.dataframe(
                pd.DataFrame(view.table(), columns=columns, index=pd.Index(view.rows, name=t("common.numbers_item"))),
                key=f"{PAGE}.start.table",
            )
            st.code(
                "from viz_model.topics.norm_placement.numbers import depth\n\nfound = depth.gradients_by_depth()",
                language="python",
            )
