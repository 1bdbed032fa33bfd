"""Start here: one sentence travels through the model, stop by stop, while one watches."""

import streamlit as st

from viz_model.app import frame, state
from viz_model.app.topic import Layout, Topic, itself, show
from viz_model.topics.walk.choices import ALL, STOP, STOPS
from viz_model.topics.walk.numbers.views import telling
from viz_model.topics.walk.sections import picture
from viz_model.topics.walk.sections.stop import section

TOPIC = Topic(
    name="walk",
    layout=Layout(of=itself, sections=(section,)),
    choices=ALL,
    is_bare=True,
    telling=telling,
    pictures=picture.LAYOUT,
)


def run() -> None:
    """Open the page; who comes with the address of something to look at, but of no stop, is shown that instead."""
    is_new, query, there = "view" not in st.session_state, st.query_params, frame.navigation()
    if there.current.url_path == frame.FIRST:
        st.switch_page(there.pages[frame.FIRST], query_params={STOP.name: STOPS[0], **query.to_dict()})
    if is_new and not {STOP.name, "lesson"}.intersection(query):
        if set(query) - {"lang"}:
            st.switch_page(there.pages["overview"], query_params=query.to_dict())
        query[STOP.name] = STOPS[0]
    elif not is_new and not query and state.current().chosen(TOPIC.name, STOP) is None:
        state.put(**state.choose(TOPIC.name, (STOP, STOPS[0])))
    show(TOPIC)
