"""With the network cut the app starts, every page works, and nobody even tries to reach another machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from socket_visitor import Visitor, server

from viz_model.app.frame import FIRST

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
MODELS = ("story-pre-ln", "story-bert", "translate-2017")


@pytest.fixture
def cut(tmp_path: Path) -> dict[str, str]:
    """The environment of a process without a network; what it tries to reach is noted."""
    path = os.pathsep.join(filter(None, [str(ROOT / "tests" / "offline"), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "OFFLINE_NOTES": str(tmp_path / "notes")}


@pytest.mark.parametrize(
    "code",
    [
        "import urllib.request; urllib.request.urlopen('http://models.example/')",
        "import socket; socket.create_connection(('192.0.2.1', 80), 1)",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))",
    ],
)
def test_a_process_that_reaches_out_is_refused_and_noted(cut: dict[str, str], code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **cut}, capture_output=True, text=True)
    assert "the network is cut" in done.stderr
    assert Path(cut["OFFLINE_NOTES"]).read_text().count("\n") == 1


@pytest.mark.server
def test_every_page_works_without_a_network(cut: dict[str, str]) -> None:
    with server("app.py", environment=cut) as (url, _):
        for model in MODELS:
            for page in PAGES:
                with Visitor(
                    url, "" if page == FIRST else page, {"model": model, "lang": "en", "stop": "look"}
                ) as visitor:
                    visitor.open()
                    assert not visitor.errors
                    assert len(visitor.elements) > (10 if page != FIRST else 2), (
                        f"{page} of {model} shows next to nothing"
                    )
    assert not Path(cut["OFFLINE_NOTES"]).exists(), Path(cut["OFFLINE_NOTES"]).read_text()
