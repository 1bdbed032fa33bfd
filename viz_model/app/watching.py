"""What a server for strangers lets in and says of itself: paths that there are, uploads within bounds, numbers.

``serve.py`` puts it around the pages, which do not know of it.
"""

import logging
import os
import threading
from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime

from viz_model.app.run_lock import RUNNING

METRICS, VARIABLE = "/metrics", "VIZ_MODEL_METRICS"
"""Where the numbers are, and the environment variable with which a server gives them."""
OF_A_VISITOR, OF_ALL = 16 * 2**20, 128 * 2**20
"""Bytes of uploads that are kept for one visitor, and for all together; they go when the visitor has gone."""
_STREAMLITS = ("_stcore", "static", "media", "component", "components", "app", "auth")
"""How its own paths begin."""
_UPLOAD = "/_stcore/upload_file/"
_LOG = logging.getLogger("viz_model")

_refused: Counter[str] = Counter()
_lock = threading.Lock()


def refuse(why: str) -> None:
    """Count what was turned away, and log it: what, not who or with which text."""
    with _lock:
        _refused[why] += 1
    _LOG.warning("turned away: %s", why)


class Paths:
    """ASGI middleware: 404 for paths that no page has. Streamlit answers any with its page, and a mistyped probe or
    a scanner would be told that all is well.
    """

    def __init__(self, app: ASGIApp) -> None:
        from viz_model.app import frame

        names = {name for section in frame.SECTIONS.values() for name in section}
        self._app, self._pages = app, {"", frame.DESK, frame.MODELS, *names, *frame.FORMER}
        self._routes = {"/healthz", *(route.path for route in metrics_route())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_known(scope["path"]):
            await PlainTextResponse("Not found\n", 404)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, path: str) -> bool:
        name, _, rest = path.lstrip("/").partition("/")
        if rest:
            return name in (*self._pages, *_STREAMLITS)
        return name in self._pages or "." in name or path in self._routes


class Uploads:
    """ASGI middleware: uploads within :data:`OF_A_VISITOR` and :data:`OF_ALL`; 413 beyond."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "PUT" or not scope["path"].startswith(_UPLOAD):
            await self._app(scope, receive, send)
            return
        session = scope["path"].removeprefix(_UPLOAD).partition("/")[0]
        size = int(dict(scope["headers"]).get(b"content-length", b"0"))
        own, every = kept(session), kept()
        if own + size > OF_A_VISITOR or every + size > OF_ALL:
            refuse("uploads of one visitor" if own + size > OF_A_VISITOR else "uploads of all")
            await PlainTextResponse("Too much uploaded\n", 413)(scope, receive, send)
            return
        # A body without a length is counted as it comes.
        room = min(OF_A_VISITOR - own, OF_ALL - every)

        async def bounded() -> Message:
            nonlocal room
            message = await receive()
            room -= len(message.get("body", b""))
            if room < 0:
                refuse("an upload longer than it said")
                return {"type": "http.disconnect"}
            return message

        await self._app(scope, bounded, send)


def kept(session: str | None = None) -> int:
    """Bytes of uploads in memory: of a visitor, or of all."""
    stored: dict[str, dict[str, Any]] = getattr(Runtime.instance()._uploaded_file_mgr, "file_storage", {})
    files = [stored.get(session, {})] if session is not None else list(stored.values())
    return sum(len(file.data) for one in files for file in list(one.values()))


def metrics_route() -> list[Route]:
    """``/metrics`` in the text format of Prometheus, where :data:`VARIABLE` asks for it; else there is none."""
    return [Route(METRICS, _metrics, methods=["GET"])] if os.environ.get(VARIABLE, "") not in ("", "0") else []


async def _metrics(_request: Request) -> PlainTextResponse:
    runtime = Runtime.instance()
    lines = [
        ("viz_sessions", "gauge", "visitors that are connected", runtime._session_mgr.num_active_sessions()),
        ("viz_runs_total", "counter", "times that the model was taken", RUNNING.taken),
        ("viz_given_up_total", "counter", "requests given up while they waited", RUNNING.given_up),
        ("viz_waiting", "gauge", "requests that wait for the model", RUNNING.waiting),
        ("viz_uploads_bytes", "gauge", "uploads in memory", kept()),
    ]
    text = "".join(f"# HELP {name} {said}\n# TYPE {name} {kind}\n{name} {value}\n" for name, kind, said, value in lines)
    text += "# HELP viz_refused_total what was turned away\n# TYPE viz_refused_total counter\n"
    text += "".join(f'viz_refused_total{{what="{why}"}} {count}\n' for why, count in sorted(_refused.items()))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
