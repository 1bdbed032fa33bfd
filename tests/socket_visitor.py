"""A visitor without a browser: one websocket to a running app. Unlike AppTest it shows sessions beside each other, a
connection that breaks, a request that overtakes another."""

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

ROOT = Path(__file__).resolve().parents[1]
ISLAND = "frame_island"
"""The key of a page's one component."""
OWN = ("seq", "nav", "chosen", "options", "open", "usual")
"""What its message says of what this visitor has done, and not of what is shown."""
PATIENCE = 120.0
"""Seconds without an answer after which a visitor gives up."""
STARTING = 300.0
"""Seconds that a server may take to start, on a machine that has other things to do."""


class Visitor:
    """One session of the app at ``url``, on one page."""

    def __init__(self, url: str, page: str = "", query: Mapping[str, str] | None = None) -> None:
        self._url, self._page, self._hash = url, page, ""
        self.origin: str | None = None  # the site whose page asks for the connection; by default the app's own
        self._headers: dict[str, str] = {}
        self.query = urlencode(query or {})  # the address as the app last wrote it
        self.elements: dict[tuple[int, ...], Any] = {}  # what the page shows, by place
        self.errors: list[str] = []  # what went wrong on any page so far
        self.folds: set[str] = set()
        self._inside: dict[str, str] = {}
        self._parts: dict[tuple[int, ...], str] = {}
        self._sent = 0
        self.is_counted = False  # whether the app has visitors' use reported to Streamlit's makers
        self.ran: tuple[str, ...] = ()  # the parts of the page that the last run was of; none where it was the whole
        self.n_runs = 0  # that have begun
        self._connection: ClientConnection | None = None
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, url: str | None = None) -> None:
        """Open the connection; a visitor who had one before comes back with the address alone."""
        self._url = url or self._url
        parts = urlsplit(self._url)
        self.close()
        asked = connect(
            f"ws://{parts.netloc}{parts.path.rstrip('/')}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            additional_headers=self._headers,
            origin=Origin(self.origin or f"{parts.scheme}://{parts.netloc}"),
            proxy=None,
            ping_interval=None,  # a busy machine is no broken connection
            open_timeout=PATIENCE,
            max_size=None,
        )
        self._connection = self._open.enter_context(asked)

    def close(self) -> None:
        self._open.close()

    @property
    def answer_headers(self) -> Mapping[str, str]:
        """The headers with which the connection was accepted."""
        assert self._connection is not None and self._connection.response is not None
        return self._connection.response.headers

    def open(self, page: str | None = None, query: Mapping[str, str] | None = None) -> float:
        """Open a page at an address, as typed into the browser; the seconds until it stood there."""
        if page is not None:
            self._page, self._hash = page, ""
        if query is not None:
            self.query = urlencode(query)
        return self._timed(BackMsg())

    def go(self, query: str, *, text: str = "") -> float:
        """Press Back or Forward to an address, while the sentence's box still says ``text``."""
        message = self._told({"text": text} if text else {}, {})
        self.query = query
        message.rerun_script.is_history_navigation = True
        message.rerun_script.fragment_id = ""
        return self._timed(message)

    @property
    def box(self) -> str:
        """What the sentence's box says."""
        return str(self._header["boxes"][0]["text"])

    def type(self, text: str, *, wait: bool = True) -> float:
        """Write another sentence; without ``wait`` nobody reads the answer yet."""
        return self._timed(self._told({"text": text}, {}), wait)

    def write(self, key: str, text: str, *, wait: bool = True) -> float:
        """Write in a box of Streamlit's own."""
        return self._set(self.element("text_input", key).id, wait, string_value=text)

    def _set(self, id: str, wait: bool = True, **value: Any) -> float:
        message = BackMsg()
        message.rerun_script.widget_states.widgets.add(id=id, **value)
        return self._timed(message, wait)

    def _told(self, typed: Mapping[str, str], chosen: Mapping[str, int]) -> BackMsg:
        """What the page's component says once its visitor rests."""
        self._sent += 1
        header, part, message = self._header, self.element("bidi_component", ISLAND), BackMsg()
        place = {**header["chosen"], **chosen}
        told = {"seq": self._sent, "nav": header["nav"], **typed, "place": place, "options": header["options"]}
        said = json.dumps({"told": {**told, "open": header["open"], "rests": self._sent}})
        message.rerun_script.widget_states.widgets.add(id=part.id, json_value=said)
        message.rerun_script.fragment_id = self._inside.get(part.id, "")
        return message

    @property
    def _header(self) -> dict[str, Any]:
        """Of the page's message."""
        return _parted(self.element("bidi_component", ISLAND).bytes)[0]

    def choose(self, key: str, option: str) -> float:
        """Click an option of a segmented control, by what is written on it."""
        return self._set(self.element("button_group", key).id, string_array_value={"data": [option]})

    def open_door(self, key: str, is_open: bool = True) -> float:
        """Click the title of a door or a fold."""
        return self._set(next(id for id in self.folds if id.endswith(key)), bool_value=is_open)

    def select(self, **chosen: int) -> float:
        """Click what selects a layer, head or token in any picture, and rest."""
        return self._timed(self._told({}, chosen))

    @property
    def text(self) -> str:
        """The sentence that the page is about, as its address has it."""
        return parse_qs(self.query).get("text", [""])[0]

    @property
    def language(self) -> str:
        return parse_qs(self.query).get("lang", [""])[0]

    def pictures(self) -> dict[str, bytes]:
        """All that is drawn, by place and kind, byte for byte; not what depends on what was looked at before."""
        found = {}
        for place, element in sorted(self.elements.items()):
            if element.WhichOneof("type") == "bidi_component":
                part = element.bidi_component
                value = getattr(part, part.WhichOneof("data") or "", b"")
                name = part.component_name.rpartition(".")[2]
                found[f"{place} {name}"] = _shown(value) if isinstance(value, bytes) else str(value).encode()
        return found

    def digest(self) -> dict[str, str]:
        """:meth:`pictures`, each as a short fingerprint."""
        return {place: hashlib.sha256(drawn).hexdigest()[:16] for place, drawn in self.pictures().items()}

    def element(self, kind: str, key: str) -> Any:
        found = [getattr(e, kind) for e in self.elements.values() if e.WhichOneof("type") == kind]
        return next(element for element in found if element.id.endswith(key))

    def _timed(self, message: BackMsg, wait: bool = True) -> float:
        assert self._connection is not None
        rerun, began = message.rerun_script, time.perf_counter()
        rerun.query_string, rerun.page_script_hash, rerun.page_name = self.query, self._hash, self._page
        self._connection.send(message.SerializeToString())
        if wait:
            self.read()
        return time.perf_counter() - began

    def read(self) -> None:
        """Read on until the page stands, whatever other runs were given up on the way."""
        assert self._connection is not None
        drawn: dict[tuple[int, ...], Any] = {}
        while True:
            raw = self._connection.recv(timeout=PATIENCE)
            assert isinstance(raw, bytes)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.n_runs += 1
                self.ran = tuple(message.metadata.run.fragment_ids)
                self.is_counted = message.new_session.config.gather_usage_stats
                drawn = {}
            elif kind == "navigation":
                self._hash = message.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "page_not_found":
                self.errors.append(f"page not found: {self._page}")
            elif kind == "delta":
                if message.delta.add_block.expandable.id:
                    self.folds.add(message.delta.add_block.expandable.id)
                if message.delta.WhichOneof("type") == "new_element":
                    element = message.delta.new_element
                    place = tuple(message.metadata.delta_path)
                    drawn[place], self._parts[place] = element, message.delta.fragment_id
                    if element.WhichOneof("type") == "bidi_component":
                        self._inside[element.bidi_component.id] = message.delta.fragment_id
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    self.errors.append("the page does not compile")
                # A part alone replaces what it had drawn before.
                stay = {place: e for place, e in self.elements.items() if self._parts[place] not in self.ran}
                self.elements = {**stay, **drawn} if self.ran else drawn
                wrong = [element.exception for element in drawn.values() if element.WhichOneof("type") == "exception"]
                page = f"{self._page or 'overview'}?{self.query}"
                self.errors += [f"{page}: {told.type}: {told.message}" for told in wrong]
                return


def _parted(message: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of what a component was sent, and what follows it."""
    end = 4 + int.from_bytes(message[:4], "little")
    return json.loads(message[4:end]), message[end:]


def _shown(message: bytes) -> bytes:
    """What a component was sent, without what is its visitor's own."""
    header, rest = _parted(message)
    if header.get("kind") != "island":
        return message
    return json.dumps({name: value for name, value in header.items() if name not in OWN}).encode() + rest


@contextlib.contextmanager
def server(
    script: str,
    port: int | None = None,
    *,
    command: Sequence[str] = (),
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[tuple[str, int]]:
    """A server of one's own on loopback, stopped at the end: its address and its process. It runs a script, or a
    ``command`` with the same options; RuntimeError with its log where it ended, or took more than :data:`STARTING`."""
    port = port or free_port()
    options = ["--server.headless=true", f"--server.port={port}", "--server.address=127.0.0.1"]
    started = [*(command or (sys.executable, "-m", "streamlit", "run", script)), *options]
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + STARTING
    with contextlib.ExitStack() as stack:
        kept = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        said = stack.enter_context((log or kept / "log.txt").open("w+b"))
        app = subprocess.Popen(started, cwd=folder, env={**os.environ, **(environment or {})}, stdout=said, stderr=said)
        stack.callback(stop, app)
        while not answers(f"{url}/_stcore/health"):
            if app.poll() is not None or time.monotonic() > until:
                said.seek(0)
                raise RuntimeError(f"the app did not start:\n{said.read().decode(errors='replace')}")
            time.sleep(0.1)
        yield url, app.pid


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def stop(app: subprocess.Popen[bytes]) -> None:
    """End a process, at once where it does not end by itself."""
    app.terminate()
    try:
        app.wait(timeout=10)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()


def answers(url: str) -> bool:
    """Whether an address answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def worked(pid: int) -> float:
    """Seconds of processor time that a process has taken so far, all its threads together, ended ones too (Linux)."""
    # After the name of the program, which may hold anything.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
