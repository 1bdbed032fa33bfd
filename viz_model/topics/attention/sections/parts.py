"""What else there is to look at, one at a time."""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz_model.app import elements
from viz_model.topics.attention.choices import SECTION
from viz_model.topics.attention.sections import caveats, mask_editor, matrices, one_query, together
from viz_model.topics.attention.sections.query import Query


def section(query: Query) -> None:
    drawn = {
        "steps": partial(one_query.section, query),
        "matrices": partial(matrices.section, query),
        "together": partial(together.section, query),
        "care": partial(caveats.section, query.page),
        "what_if": partial(mask_editor.section, query.page),
    }
    elements.tabs(query.page, SECTION, drawn)
    st.divider()
