"""``viz-model``: the app in the browser, from any folder."""

import argparse
import asyncio
import contextlib
import os
import socket
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from streamlit import config
from streamlit.web import bootstrap, cli
from streamlit.web.server import Server

if TYPE_CHECKING:
    from viz_model.runs.language_model import LanguageModel

MODELS, LESSONS, FRAMES = "VIZ_MODEL_PATH", "VIZ_MODEL_LESSONS", "VIZ_MODEL_FRAME_ANCESTORS"
ROOMS, OBSERVE = "VIZ_MODEL_ROOMS", "VIZ_MODEL_OBSERVE"
DTYPE, DEVICE, THREADS = "VIZ_MODEL_DTYPE", "VIZ_MODEL_DEVICE", "VIZ_MODEL_THREADS"
"""What the app reads from its environment."""


def site() -> Path:
    """The folder of ``app.py``, ``pages/`` and the settings: within an installed package, else the repository's."""
    package = Path(__file__).parent
    return package / "site" if (package / "site").is_dir() else package.parent


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="viz-model",
        description="See every value of a real Transformer that reads what you type.",
        epilog="viz-model export FILE writes a page as a file (viz-model export --help). "
        "Any other option is handed to streamlit run, such as --server.allowedHosts=app.example.edu.",
    )
    parser.add_argument("--port", type=int, default=8501, help="of the server (%(default)s)")
    parser.add_argument("--host", default="localhost", help="it listens on; 0.0.0.0 for every address (%(default)s)")
    parser.add_argument(
        "--models",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model folder, a .gguf file, a folder of these, or org/name of the Hugging Face hub",
    )
    parser.add_argument(
        "--observe",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a model of transformers that is not recomputed here: its own runs are shown (docs/checkpoints.md)",
    )
    parser.add_argument("--revision", metavar="NAME", help="on the hub: a branch, a tag or a commit")
    parser.add_argument(
        "--dtype",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="of weights and runs; auto keeps the 16 bits of large files and takes float32 for all others (auto)",
    )
    parser.add_argument("--device", metavar="NAME", help="that computes: cpu, cuda, mps (cpu)")
    parser.add_argument("--threads", type=int, metavar="N", help="that a run computes with (1)")
    parser.add_argument("--lessons", metavar="FOLDER", help="lessons of your own (docs/teaching.md)")
    parser.add_argument(
        "--rooms", action="store_true", help="let teachers open rooms, kept in memory (docs/teaching.md)"
    )
    parser.add_argument(
        "--public",
        action="store_true",
        help="for strangers: security headers, a health check at /healthz, the first model checked first",
    )
    parser.add_argument(
        "--frame-ancestors", metavar="ORIGINS", help="with --public: sites that may show the app in a frame (none)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('viz-model')}")
    return parser


def place(model: str, revision: str | None = None) -> str:
    """The path of a model that ``--models`` names: on this machine, or fetched from the hub.

    Raises:
        SystemExit: there is nothing of the name, or it cannot be read.
    """
    from viz_model.checkpoints.places import meant, within

    if (path := Path(model)).exists():
        if not within(path) and path.is_file():
            parser().error(f"--models: {model}: expected a model folder, a .gguf file, or a folder of these")
        if not within(path):  # models may still come
            print(f"--models: {model}: there is no model in it")
        return str(path.absolute())
    # All that follows brings PyTorch, which a path does without.
    from viz_model.checkpoints import hub
    from viz_model.checkpoints.weights import ModelError

    if (asked := hub.asked(model)) is None:
        said = "no such file or folder, and no org/name of the Hugging Face hub"
        parser().error(f"--models: {model}: {said}{meant(model)}")
    try:
        return str(hub.fetch(asked, revision))
    except ModelError as error:
        parser().error(f"--models: {error}{meant(model)}")


def size(model: Path) -> str:
    """What is said of a large model's weights before anything is read: how many bytes, and how many are free."""
    from viz_model.checkpoints import room

    if (found := room.of_files(model)) is None:
        return ""
    there = "" if found.free is None else f"; {found.free / 1e9:.1f} GB of memory are free"
    return f"{model.name}: {found.needed / 1e9:.1f} GB of weights{there}"


def open_app(
    lm: "LanguageModel | None" = None, *, port: int = 0, host: str = "localhost", open_browser: bool = True
) -> str:
    """The address of the app, served by this process, with a model of it: from a script or a notebook.

    The server ends with the process; a script that has no more to do waits for nothing, so end it with ``input()``.
    Called again, the same server offers one more model.

    Args:
        lm: what the app shows first; its weights are shared with it. None: the models that are there anyway.
        port: of the server; 0 for any that is free. Of a server that runs already it says nothing.
        open_browser: whether the address is opened.
    """
    global _address
    from viz_model.checkpoints import registry

    query = ""
    if lm is not None:
        registry.HANDED_OVER[lm.name] = lm
        query = "?" + urlencode({"model": lm.name})
    if _address is None:
        _address = _served(host, port or _free_port(host))
    else:
        from viz_model.app import runs

        runs.look_again()
    if open_browser:
        webbrowser.open(_address + query)
    return _address + query


_address: str | None = None


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _served(host: str, port: int) -> str:
    """The address of a server in a thread of this process, once it answers.

    Raises:
        RuntimeError: it does not answer, as where the port is taken.
    """
    script = str(site() / "app.py")
    config._main_script_path = script
    bootstrap.load_config_options({"server.port": port, "server.address": host, "server.headless": True})

    async def serve() -> None:
        server = Server(script, is_hello=False)
        await server.start()
        await server.stopped

    threading.Thread(target=lambda: asyncio.run(serve()), name="viz-model", daemon=True).start()
    for _ in range(300):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{host}:{port}/_stcore/health", timeout=1):
            return f"http://{host}:{port}/"
        time.sleep(0.1)
    raise RuntimeError(f"the app does not answer on port {port}")


def export(arguments: Sequence[str]) -> None:
    """Write a page of a run as a file, without a server.

    Args:
        arguments: of the command line after ``export``.

    Raises:
        SystemExit: the arguments are wrong, or there is no such model, page or place.
    """
    import viz_model as vm
    from viz_model.plot import films, pages

    named = argparse.ArgumentParser(prog="viz-model export", description="A page, or a film of the walk, as a file.")
    named.add_argument("file", type=Path, help=f"ending in .html; or for a film in {', '.join(films.FORMATS)}")
    named.add_argument("--page", choices=pages.NAMES, help="which page (that of the file's name)")
    named.add_argument("--text", required=True, help="what the model reads")
    named.add_argument("--target", help="of a model that translates, what the decoder reads")
    named.add_argument("--model", default="story-pre-ln", help="a name, folder or file (%(default)s)")
    named.add_argument("--language", default="en", help="shown first (%(default)s)")
    for place in ("layer", "head", "token"):
        named.add_argument(f"--{place}", type=int, help="selected first")
    named.add_argument(
        "--writes", action=argparse.BooleanOptionalAction, default=True,
        help="put the weights into the walk, so that one types and the model writes in the file: up to 14 MB, not 3",
    )  # fmt: skip
    wanted = named.parse_args(arguments)
    name = wanted.page or (wanted.file.stem if wanted.file.stem in pages.NAMES else "")
    if not name:
        named.error(f"--page: one of {', '.join(pages.NAMES)}, since the file is not called like one")
    try:
        lm = vm.load(wanted.model)
        target = {} if wanted.target is None else {"target": wanted.target}
        trace = lm.trace(wanted.text, **target)
        places = {place: getattr(wanted, place) for place in ("layer", "head", "token")}
        if wanted.file.suffix.lower() in films.FORMATS:
            saved = films.film(trace, name, language=wanted.language, **places).save(wanted.file)
        else:
            saved = pages.page(trace, name, language=wanted.language, writes=wanted.writes, **places).save(wanted.file)
    except (vm.ModelError, vm.TextError, ValueError, films.NoFilm) as error:
        named.error(str(error))
    print(f"{saved}: {saved.stat().st_size:,} bytes")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the app until it is interrupted; or with ``export`` first write a file.

    Args:
        arguments: of the command line; by default the process's own.

    Raises:
        SystemExit: the arguments are wrong, or the server ended.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["export"]:
        return export(given[1:])
    if given and not given[0].startswith("-"):
        parser().error(f"{given[0]!r}: expected export, or options; a model is named by --models")
    wanted, more = parser().parse_known_args(given)
    if wanted.frame_ancestors and not wanted.public:
        parser().error("--frame-ancestors is for --public")
    if wanted.revision and all(Path(model).exists() for model in wanted.models):
        parser().error("--revision: only models of the hub have revisions, and --models names none")
    present = os.environ.get(MODELS)
    if paths := [*(place(model, wanted.revision) for model in wanted.models), *([present] if present else [])]:
        os.environ[MODELS] = os.pathsep.join(paths)
    if wrong := [folder for folder in wanted.observe if not (Path(folder) / "config.json").is_file()]:
        parser().error(f"--observe: {wrong[0]}: no folder with a config.json")
    if wanted.observe:
        os.environ[OBSERVE] = os.pathsep.join(str(Path(folder).absolute()) for folder in wanted.observe)
    if wanted.rooms:
        os.environ[ROOMS] = "1"
    for model in paths:
        if said := size(Path(model)):
            print(said, flush=True)
    if wanted.device is not None or wanted.threads is not None:
        from viz_model.checkpoints import room

        try:
            room.placing(device=wanted.device)
            room.set_threads(wanted.threads)
        except ValueError as error:
            parser().error(f"--{error}")
    asked = {LESSONS: wanted.lessons, DTYPE: wanted.dtype, DEVICE: wanted.device, THREADS: wanted.threads}
    os.environ.update({name: str(value) for name, value in asked.items() if value})
    if wanted.frame_ancestors:
        os.environ[FRAMES] = wanted.frame_ancestors
    options = [f"--server.port={wanted.port}", f"--server.address={wanted.host}"]
    if wanted.public or wanted.no_browser:
        options.append("--server.headless=true")
    script = site() / ("serve.py" if wanted.public else "app.py")
    cli.main(["run", str(script), *options, *more], prog_name="viz-model")
