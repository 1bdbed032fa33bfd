"""The app: ``viz-model``, or here ``streamlit run app.py``. The pages are in pages/, everything else in viz_model/.

The server imports this file when it starts, and every visit runs it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.runtime import RuntimeState
from streamlit.runtime.scriptrunner import get_script_run_ctx


async def draw_first_page() -> None:
    """Draw the first page for nobody, so that the first visitor finds a loaded model.

    Nothing of viz_model is imported before that: all of it brings PyTorch, and the server would answer later. Who
    comes in the meantime is not kept waiting by a page that nobody reads.
    """
    runtime = Runtime.instance()
    drawing = asyncio.create_task(runtime.does_script_run_without_error())
    while not drawing.done() and runtime.state is not RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED:
        await asyncio.sleep(0.05)
    drawing.cancel()


@contextlib.asynccontextmanager
async def warm(_app: st.App) -> AsyncIterator[None]:
    """Take visitors at once, and draw the first page beside it."""
    drawing = asyncio.create_task(draw_first_page())
    yield
    drawing.cancel()


if get_script_run_ctx(suppress_warning=True) is None:
    app = st.App(__file__, lifespan=warm)
else:
    from viz_model.app import frame

    frame.run()
