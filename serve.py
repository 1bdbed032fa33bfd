"""The app for a server that strangers reach: ``viz-model --public``, or ``streamlit run serve.py``.

The same pages as ``app.py``, with security headers, a health check at ``/healthz`` and the first
model loaded before the first visitor. docs/serving.md says more.
"""

import os
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from viz_model.app import serving, watching

app = st.App(
    Path(__file__).parent / "app.py",
    lifespan=serving.warm,
    routes=[serving.health_route(serving.check_first), *watching.metrics_route()],
    middleware=[
        Middleware(serving.Headers, frame_ancestors=os.environ.get("VIZ_MODEL_FRAME_ANCESTORS", "'none'")),
        Middleware(watching.Paths),
        Middleware(watching.Uploads),
    ],
)
