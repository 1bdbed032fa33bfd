"""The app: ``viz-model``, or here ``streamlit run app.py``. The pages are in pages/, everything else in viz_model/.

The server imports this file when it starts, and every visit runs it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


@contextlib.asynccontextmanager
async def warm(_app: st.App) -> AsyncIterator[None]:
    """Draw the first page for nobody as soon as the server answers, so that the first visitor finds a loaded model.

    Nothing of viz_model is imported before that: all of it brings PyTorch, and the server would answer later.
    """
    drawing = asyncio.create_task(Runtime.instance().does_script_run_without_error())
    yield
    drawing.cancel()


if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, lifespan=warm)
else:
    from viz_model.app import frame

    frame.run()
