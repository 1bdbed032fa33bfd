"""``viz-model``: what it is told, and the app out of a wheel from a folder that has nothing to do with it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from socket_visitor import Visitor, server

import viz_model as vm
from viz_model import command
from viz_model.app import serving
from viz_model.app.frame import FIRST

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments that Streamlit is started with, in place of starting it."""
    found: list[list[str]] = []

    def start(arguments: list[str], **_: Any) -> None:
        found.append(arguments)

    monkeypatch.setattr("viz_model.command.cli.main", start)
    monkeypatch.setenv(command.MODELS, "already/there")
    monkeypatch.setenv(command.LESSONS, "")
    monkeypatch.delenv(command.FRAMES, raising=False)
    return found


def test_the_app_is_that_of_the_repository(started: list[list[str]]) -> None:
    command.main(
        [
            "--port",
            "8600",
            "--models",
            "a.gguf",
            "--models",
            "folder",
            "--lessons",
            "own",
            "--server.allowedHosts=x.example",
        ]
    )
    assert started == [
        ["run", f"{ROOT}/app.py", "--server.port=8600", "--server.address=localhost", "--server.allowedHosts=x.example"]
    ]
    assert os.environ[command.LESSONS] == "own"
    assert os.environ[command.MODELS] == os.pathsep.join(("a.gguf", "folder", "already/there"))


def test_strangers_are_served_by_another_script(started: list[list[str]]) -> None:
    command.main(["--public", "--host", "0.0.0.0", "--frame-ancestors", "https://lms.example.edu"])
    ((_, script, *options),) = started
    assert (
        script == f"{ROOT}/serve.py" and "--server.headless=true" in options and "--server.address=0.0.0.0" in options
    )
    assert os.environ[command.FRAMES] == "https://lms.example.edu"


def test_frames_are_for_strangers(started: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--frame-ancestors", "https://lms.example.edu"])
    assert "--public" in capsys.readouterr().err and not started


def test_the_version_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--version"])
    assert capsys.readouterr().out == f"viz-model {vm.__version__}\n"


@pytest.mark.server
def test_a_wheel_serves_the_app_from_any_folder(tmp_path: Path) -> None:
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 60e6
    subprocess.run([*pip, "install", "--no-deps", "--target", str(installed), str(wheel)], check=True)
    program = (sys.executable, "-m", "viz_model", "--public")
    with server("", command=program, folder=elsewhere, environment={"PYTHONPATH": str(installed)}) as (url, _):
        with urllib.request.urlopen(f"{url}/healthz") as answer:
            assert answer.status == 200 and "default-src 'none'" in answer.headers["Content-Security-Policy"]
        with Visitor(url, "attention", {"text": "The cat sat"}) as visitor:
            visitor.open()
            assert not visitor.errors and not visitor.is_counted
            assert visitor.pictures()


def test_a_server_without_the_settings_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under an ASGI server of somebody else's, where Streamlit looks for them in the folder it was started in."""
    monkeypatch.setattr("viz_model.app.serving.st.get_option", serving.STREAMLITS.__getitem__)

    async def start() -> None:
        async with serving.warm(None):
            pass

    with pytest.raises(RuntimeError, match="viz-model --public"):
        asyncio.run(start())


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
