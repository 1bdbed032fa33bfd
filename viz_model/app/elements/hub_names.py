"""What the weights behind a value are called on the Hugging Face hub."""

import streamlit as st

from viz_model.app.page import Page
from viz_model.checkpoints.hub_names import SHOWN, hub_names, weights_of
from viz_model.texts.markdown import literal, table


def names_on_hub(page: Page, site: str) -> None:
    """A table of our names and those of some families; nothing where no family has such weights."""
    every = [name for name, _ in page.lm.model.named_parameters()]
    found = hub_names(page.lm.config, weights_of(every, page.trace.full_name(site)))
    if not found:
        return
    families = [family for family in SHOWN if any(family in named for named in found.values())]
    rows = [
        [literal(name), *(literal(named[family]) if family in named else "–" for family in families)]
        for name, named in found.items()
    ]
    st.caption(page.t("common.hub_names"))
    st.markdown(table([page.t("common.hub_names_here"), *families], rows, "l" * (len(families) + 1)))
