"""Below the page on cost: a training step with gradient checkpointing and without, measured here."""

import streamlit as st

from viz_model.app import elements, measuring
from viz_model.app.expander import Door
from viz_model.app.page import Page
from viz_model.drawing.digits import byte_size, duration
from viz_model.texts.markdown import table
from viz_model.topics.cost.checkpointed import LONGEST, SLOWER, WAYS, Reading, can, measure

READINGS = "checkpointed.readings"


def section(page: Page) -> None:
    """A button, and what came out: memory against time."""
    if not can(page.lm.config):
        return
    words = page.words
    st.subheader(words("checkpointed_title"), anchor=False)
    elements.see(page, "checkpointed", n=min(LONGEST, page.lm.config.n_context))
    kept: dict[str, list[Reading]] = st.session_state.setdefault(READINGS, {})
    model = page.view.model
    if st.button(
        words("measure_again" if model in kept else "measure"), key="cost.checkpointed", icon=":material/timer:"
    ):
        going = measure(page.trace.whole)
        if taken := measuring.readings(page, going, len(WAYS), lambda one: words(f"way_{one.way}")):
            kept[model] = taken
    if model not in kept:
        return
    plain, again = kept[model]
    rows = [
        [words(f"way_{one.way}"), byte_size(one.held), byte_size(one.most), duration(one.seconds), f"{one.norm:.4f}"]
        for one in (plain, again)
    ]
    st.markdown(table([words(f"way_{name}") for name in ("name", "held", "most", "time", "norm")], rows))
    facts = {"memory": f"{plain.most / again.most:.2f}", "time": f"{again.seconds / plain.seconds:.2f}"}
    elements.say(page, SLOWER, (plain.seconds, again.seconds), **facts)


DOOR = Door("measured", (measuring.products, measuring.section, section), is_alone=True)
