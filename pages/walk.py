"""Start here: the model writes, and chapter by chapter one sees how."""

import streamlit as st

from viz_model.app import frame, show
from viz_model.topics import walk

query, there = st.query_params, frame.navigation()
former = query.get("stop")
if former is not None:  # as addresses of the walk were written before
    del query["stop"]
    query["chapter"] = walk.FORMERLY.get(former, former)
if there.current.url_path == frame.FIRST:
    st.switch_page(there.pages[frame.FIRST], query_params=query.to_dict())
# Who comes with the address of something to look at, but of no chapter, is shown that instead.
if "view" not in st.session_state and set(query) - {"lang", "chapter", "beat", "lesson", "view"} and "chapter" not in query:
    st.switch_page(there.pages["overview"], query_params=query.to_dict())
show.show(walk.TOPIC)
