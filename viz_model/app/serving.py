"""What the server does around the pages: headers that a browser obeys, a health check, a warm start.

``serve.py`` puts it together. The pages do not know of it, and run without it.
"""

import asyncio
import base64
import contextlib
import hashlib
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime

import viz_model as vm
from viz_model.app import health

STREAMLITS = {"browser.gatherUsageStats": True, "client.showErrorDetails": "full", "server.maxUploadSize": 200}
"""What Streamlit does where nobody says otherwise, and a server for strangers must not."""

HEALTH = "/healthz"
HEALTH_SECONDS = 10.0
"""For which an answer of the health check holds, so that asking often costs nothing."""

_SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)


def policy(frame_ancestors: str = "'none'") -> str:
    """The Content-Security-Policy: what a page of the app may load and run (W3C CSP Level 3).

    As strict as Streamlit allows. Scripts come from this server alone; the one that stands in its
    index.html is named by its fingerprint, and ``blob:`` is how Streamlit loads a component that was
    registered as text. Styles are written into the page by its CSS library, which needs
    'unsafe-inline'. Nothing is loaded from, or sent to, another server.

    Args:
        frame_ancestors: which pages may show the app in a frame: "'none'", "'self'", or origins with
            spaces between, such as "https://lms.example.edu".

    Raises:
        ValueError: ``frame_ancestors`` is not one directive's value.
    """
    if not frame_ancestors.strip() or not re.fullmatch(r"[\x21-\x2b\x2d-\x3a\x3c-\x7e ]+", frame_ancestors):
        raise ValueError(f"frame_ancestors: origins with spaces between, not {frame_ancestors!r}")
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in _SCRIPT.findall(page)]
    directives = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "blob:", *(f"'sha256-{digest}'" for digest in inline)]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "manifest-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": frame_ancestors.strip(),
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


class Headers:
    """ASGI middleware: the same headers on every answer, whoever made it."""

    def __init__(self, app: ASGIApp, frame_ancestors: str = "'none'") -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy(frame_ancestors),
            # A file is what its type says, never what it looks like.
            "X-Content-Type-Options": "nosniff",
            # The sentence stands in the address: no other site, and no log, learns it from a link.
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, with_headers)


def health_route(check: Callable[[], health.Health], seconds: float = HEALTH_SECONDS) -> Route:
    """``/healthz``: 200 where a model runs and its numbers are right, 503 otherwise, with the findings as JSON.

    One check at a time, in a thread of its own; an answer holds for so many ``seconds``.
    """
    lock = asyncio.Lock()
    last: tuple[float, health.Health] | None = None

    async def answer(_request: Request) -> JSONResponse:
        nonlocal last
        async with lock:
            if last is None or time.monotonic() - last[0] > seconds:
                found = await asyncio.to_thread(check)
                last = time.monotonic(), found
        found = last[1]
        return JSONResponse(
            {
                "status": "ok" if found.is_well else "failing",
                "model": found.model,
                "checked": found.n_checked,
                # How many, not which: what failed stands in the log.
                "problems": len(found.problems),
                "seconds": round(found.seconds, 3),
            },
            status_code=200 if found.is_well else 503,
            headers={"Cache-Control": "no-store"},
        )

    return Route(HEALTH, answer, methods=["GET", "HEAD"])


def check_first() -> health.Health:
    """The health of the first model on offer, as visitors share it."""
    from viz_model.app import runs

    return health.check(runs.loaded(vm.models()[0]))


_strangers_come = threading.Event()


def is_public() -> bool:
    """Whether this server was started for strangers: then no visitor changes anything for the others."""
    return _strangers_come.is_set()


@contextlib.asynccontextmanager
async def warm(_app: Any) -> AsyncIterator[None]:
    """Load the first model before anybody is let in, then draw the first page for nobody, as ``app.py`` does.

    A server that cannot run the model does not start.

    Raises:
        RuntimeError: the model runs and its numbers are wrong, or it does not run; or the server was started in a
            way that leaves the app's settings out.
    """
    if all(st.get_option(name) == value for name, value in STREAMLITS.items()):
        raise RuntimeError("the settings beside app.py are not in force: start with viz-model --public")
    _strangers_come.set()
    found = await asyncio.to_thread(check_first)
    if not found.is_well:
        raise RuntimeError("; ".join(found.problems))
    drawing = asyncio.create_task(Runtime.instance().does_script_run_without_error())
    logging.getLogger("viz_model").warning("ready: %s checked in %.1f s", found.model, found.seconds)
    yield
    drawing.cancel()
