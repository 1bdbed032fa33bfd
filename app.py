"""The app: ``viz-model``, or here ``streamlit run app.py``. The pages are in pages/, everything else in viz_model/.

The server imports this file when it starts, and every visit runs it.
"""

import contextlib
from collections.abc import AsyncIterator

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


@contextlib.asynccontextmanager
async def warm(_app: st.App) -> AsyncIterator[None]:
    """Draw the first page for nobody before the server answers: its first visitor finds PyTorch and a model loaded."""
    await Runtime.instance().does_script_run_without_error()
    yield


if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, lifespan=warm)
else:
    from viz_model.app import frame

    frame.run()
