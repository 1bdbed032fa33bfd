"""``viz-model``: what it is told, and the app out of a wheel from a folder that has nothing to do with it."""

import asyncio
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from socket_visitor import Visitor, answers, free_port, server

import viz_model as vm
from viz_model import command
from viz_model.app import serving
from viz_model.app.frame import FIRST
from viz_model.checkpoints import hub, room

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
MODELS = ("story-pre-ln", "story-bert", "translate-2017")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments that Streamlit is started with, in place of starting it."""
    found: list[list[str]] = []
    monkeypatch.setattr("viz_model.command.cli.main", lambda arguments, **_: found.append(arguments))
    monkeypatch.setenv(command.MODELS, "already/there")
    for name in (command.LESSONS, command.DTYPE, command.DEVICE, command.THREADS, command.FRAMES):
        monkeypatch.setenv(name, "")
    return found


def test_the_app_is_the_repositorys(started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.gguf").touch()
    own = ["--models", "a.gguf", "--models", "folder", "--lessons", "own", "--server.allowedHosts=x.example"]
    command.main(["--port", "8600", *own])
    own = ["--server.port=8600", "--server.address=localhost", "--server.allowedHosts=x.example"]
    assert started == [["run", f"{ROOT}/app.py", *own]] and os.environ[command.LESSONS] == "own"
    command.main(["--public", "--host", "0.0.0.0", "--frame-ancestors", "https://lms.example.edu"])
    _, script, *options = started[1]  # which serves strangers
    assert script == f"{ROOT}/serve.py" and {"--server.headless=true", "--server.address=0.0.0.0"} <= {*options}
    assert os.environ[command.FRAMES] == "https://lms.example.edu"
    assert os.environ[command.MODELS] == os.pathsep.join((f"{tmp_path}/a.gguf", f"{tmp_path}/folder", "already/there"))


def test_a_model_is_fetched_by_name_or_is_an_error(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(wanted: hub.Asked, revision: str | None) -> Path:
        if wanted.repository == "org/none":
            raise vm.ModelError("org/none: not fetched")
        asked.append((wanted.repository, wanted.file, revision))
        return Path("/cache/name")

    monkeypatch.setattr(hub, "fetch", fetch)
    command.main(["--models", "org/name/x.gguf", "--models", "https://huggingface.co/org/name", "--revision", "v1"])
    assert asked == [("org/name", "x.gguf", "v1"), ("org/name", None, "v1")] and len(started) == 1
    assert os.environ[command.MODELS] == os.pathsep.join(("/cache/name", "/cache/name", "already/there"))
    (tmp_path / "tiny").touch()
    wrongs = {
        "no/such/folder": "no such file or folder",
        "org/none": "org/none: not fetched",
        str(tmp_path / "tinny"): f"did you mean {tmp_path / 'tiny'}?",
        str(tmp_path / "tiny"): "expected a model folder, a .gguf file, or a folder of these",
    }
    for wrong, says in wrongs.items():
        with pytest.raises(SystemExit):
            command.main(["--models", wrong])
        assert says in capsys.readouterr().err and len(started) == 1
    (tmp_path / "shelf").mkdir()
    command.main(["--models", str(tmp_path / "shelf")])
    assert f"{tmp_path / 'shelf'}: there is no model in it" in capsys.readouterr().out and len(started) == 2


def test_type_device_and_threads_are_handed_on(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LARGE", 5)
    (tmp_path / "model.safetensors").write_bytes(b"123456")
    command.main(["--models", str(tmp_path), "--dtype", "bfloat16", "--device", "cpu", "--threads", "2"])
    assert [os.environ[name] for name in (command.DTYPE, command.DEVICE, command.THREADS)] == ["bfloat16", "cpu", "2"]
    told = rf"{tmp_path.name}: 0\.0 GB of weights(; [\d.]+ GB of memory are free)?\n"
    assert re.search(told, capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--dtype", "int8"], "invalid choice"),
        (["--device", "tape"], "--device: 'tape' is not here"),
        (["exprt", "page.html"], "'exprt': expected export, or options"),
        (["--threads", "1000000000"], "--threads: expected a whole number from 1 to 1024"),
        (["--threads", "0"], "--threads: expected a whole number from 1 to 1024"),
        (["--models", ".", "--revision", "v1"], "--revision: only models of the hub have revisions"),
        (["--frame-ancestors", "https://lms.example.edu"], "--public"),  # frames are for strangers
        (["--version"], f"viz-model {vm.__version__}\n"),
    ],
)
def test_nothing_is_started_where_something_else_is_said(
    arguments: list[str], says: str, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert says in "".join(capsys.readouterr()) and not started


def test_a_server_without_the_settings_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under an ASGI server of somebody else's, where Streamlit looks for them in the folder it was started in."""
    monkeypatch.setattr("viz_model.app.serving.st.get_option", serving.STREAMLITS.__getitem__)

    async def start() -> None:
        async with serving.warm(None):
            pass

    with pytest.raises(RuntimeError, match="viz-model --public"):
        asyncio.run(start())


@pytest.mark.server
def test_every_page_works_without_a_network(tmp_path: Path) -> None:
    """In a process that is refused what lies outside, and whose tries are noted."""
    notes = tmp_path / "notes"
    path = os.pathsep.join(filter(None, [str(ROOT / "tests" / "offline"), os.environ.get("PYTHONPATH")]))
    cut = {"PYTHONPATH": path, "OFFLINE_NOTES": str(notes)}
    code = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **cut}, capture_output=True, text=True)
    assert "the network is cut" in done.stderr and notes.read_text().count("\n") == 1
    notes.unlink()
    with server("app.py", environment=cut) as (url, _):
        for model in MODELS:
            for page in PAGES:
                query = {"model": model, "lang": "en", "stop": "look"}
                with Visitor(url, "" if page == FIRST else page, query) as visitor:
                    visitor.open()
                    assert not visitor.errors and len(visitor.elements) > (10 if page != FIRST else 2), (page, model)
    assert not notes.exists(), notes.read_text()


def given(name: str) -> list[str]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [found.strip() for found in re.findall(rf"^{name} (.*)", text, re.M)]


def port_of(arguments: list[str]) -> int:
    told, others = command.parser().parse_known_args([*json.loads(given("ENTRYPOINT")[-1])[1:], *arguments])
    assert told.public and told.host == "0.0.0.0" and not others
    return int(told.port)


def test_every_port_of_the_container_is_the_one_that_the_command_is_told() -> None:
    port = port_of(json.loads(given("CMD")[-1]))
    assert port == command.parser().get_default("port") == int(given("EXPOSE")[-1])
    assert f"http://127.0.0.1:{port}/_stcore/health'" in given("HEALTHCHECK")[-1]
    assert int(given("USER")[-1]) > 0 and f"--uid {given('USER')[-1]} " in given("RUN")[-1]
    _, front, _ = (ROOT / "deploy/spaces/README.md").read_text(encoding="utf-8").split("---\n", 2)
    told = yaml.safe_load(front)
    (torch,) = [line for line in PROJECT["project"]["dependencies"] if line.startswith("torch>")]
    for file in ("requirements.txt", "Dockerfile"):
        assert torch in (ROOT / file).read_text(encoding="utf-8").replace('"', " ").split()
    assert (told["sdk"], told["app_port"], told["license"]) == ("docker", port, "apache-2.0")
    assert len(told["short_description"]) <= 60


def test_the_proxy_knows_every_replica_by_its_name(tmp_path: Path) -> None:
    replicas = {name: service for name, service in COMPOSE["services"].items() if "build" in service}
    at = {f"{name}:{port_of(service['command'])}" for name, service in replicas.items()}
    # The file that nginx is started with in its container: the repository's, rewritten as compose.yaml says.
    proxy = COMPOSE["services"]["proxy"]
    source, inside, _ = proxy["volumes"][0].split(":")
    script = proxy["command"][-1].partition("; exec ")[0].replace(inside, str(ROOT / source))
    subprocess.run(["sh", "-euc", script.replace("/tmp/nginx.conf", f"{tmp_path}/nginx.conf")], check=True)
    written = (tmp_path / "nginx.conf").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"upstream (\w+) \{(.*?)\n    \}", written, re.S))
    assert len(at) == 2 and blocks.keys() == {"viz"}
    assert set(re.findall(r"server (\S+?)[ ;]", blocks["viz"])) == at
    for address in at:  # one line is all that a replica takes
        assert written.count(address) == 1
    assert "127.0.0.1:85" not in written and "127.0.0.1:85" in (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    (published,) = proxy["ports"]
    assert set(re.findall(r"^ *listen (\d+)", written, re.M)) == {published.rpartition(":")[2]}
    assert proxy["depends_on"] == {key: {"condition": "service_healthy"} for key in replicas}
    for service in replicas.values():
        assert f":{port_of(service['command'])}/_stcore/health'" in service["healthcheck"]["test"][-1]
        assert service["read_only"] and service["tmpfs"] and service["build"] == "."
    if shutil.which("nginx") is None:
        pytest.skip("no nginx on the PATH")
    # A name that nobody answers to is an error, and here nobody does.
    written = re.sub(r"server replica-\w:", "server 127.0.0.1:", written).replace("pid /run/", f"pid {tmp_path}/")
    (tmp_path / "tried.conf").write_text(written, encoding="utf-8")
    tried = subprocess.run(["nginx", "-t", "-c", str(tmp_path / "tried.conf")], capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr


@pytest.mark.server
def test_a_file_is_had_from_the_replica_that_made_it(tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("no nginx on the PATH")
    written = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8").replace("pid /run/", f"pid {tmp_path}/")
    with contextlib.ExitStack() as stack:
        for port in ("8521", "8522"):
            folder = tmp_path / port / "media"
            folder.mkdir(parents=True)
            (folder / f"{port}.svg").write_text("<svg/>", encoding="utf-8")
            handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder.parent))
            replica = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
            threading.Thread(target=replica.serve_forever, daemon=True).start()
            stack.callback(replica.shutdown)
            written = written.replace(f"127.0.0.1:{port}", f"127.0.0.1:{replica.server_port}")
        here = f"127.0.0.1:{free_port()}"
        (tmp_path / "nginx.conf").write_text(written.replace("127.0.0.1:8523", here), encoding="utf-8")
        proxy = subprocess.Popen(["nginx", "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"])
        stack.callback(proxy.wait)
        stack.callback(proxy.terminate)
        until = time.monotonic() + 5
        while not answers(f"http://{here}/media/8521.svg"):
            assert time.monotonic() < until
            time.sleep(0.1)
        for port in ("8521", "8522") * 3:
            assert answers(f"http://{here}/media/{port}.svg")


@pytest.mark.server
def test_the_wheel_that_the_container_builds_serves_from_any_folder_without_a_home(tmp_path: Path) -> None:
    """The build's steps on a copy of what it copies, then its command and its health check."""
    source, installed, empty = tmp_path / "source", tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    source.mkdir()
    for line in [line for line in given("COPY") if not line.startswith("--from")]:
        *names, destination = line.split()
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / destination, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                (source / destination).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, source / destination)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 66e6
    subprocess.run([*pip, "install", "--no-deps", "--target", str(installed), str(wheel)], check=True)
    there = set(installed.rglob("*"))
    arguments = json.loads(given("ENTRYPOINT")[-1])[1:] + json.loads(given("CMD")[-1])
    without = ("env", "-u", "HOME", "PYTHONDONTWRITEBYTECODE=1")
    program = (*without, sys.executable, "-m", "viz_model", *arguments)
    with server("", command=program, folder=empty, environment={"PYTHONPATH": str(installed)}) as (url, _):
        with urllib.request.urlopen(f"{url}/healthz") as answer:
            assert answer.status == 200 and "default-src 'none'" in answer.headers["Content-Security-Policy"]
        with Visitor(url, "attention", {"text": "The cat sat"}) as visitor:
            visitor.open()
            assert not visitor.errors and not visitor.is_counted and visitor.pictures()
    assert set(installed.rglob("*")) == there and not list(empty.iterdir())


@pytest.mark.server
def test_the_app_of_a_model_in_memory() -> None:
    code = """
import urllib.request, viz_model as vm
lm = vm.load("story-pre-ln")
own = vm.load(lm.model.state_dict(), lm.tokenizer, config=lm.config, name="mine")
address = vm.open_app(own, open_browser=False)
again = vm.open_app(lm, open_browser=False)
print(address, again, urllib.request.urlopen(address).status, vm.models()[:2])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert not said.returncode, said.stderr
    first, second, status, *names = said.stdout.split(maxsplit=3)
    assert first.endswith("/?model=mine") and second == first.replace("mine", "story-pre-ln")
    assert (status, names) == ("200", ["['mine', 'story-pre-ln']\n"])
