"""``viz-model``: the app in the browser, from any folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from streamlit.web import cli

MODELS, LESSONS, FRAMES = "VIZ_MODEL_PATH", "VIZ_MODEL_LESSONS", "VIZ_MODEL_FRAME_ANCESTORS"
"""What the app reads from its environment."""


def site() -> Path:
    """The folder of ``app.py``, ``pages/`` and the settings: within an installed package, else the repository's."""
    package = Path(__file__).parent
    return package / "site" if (package / "site").is_dir() else package.parent


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="viz-model",
        description="See every value of a real Transformer that reads what you type.",
        epilog="Any other option is handed to streamlit run, such as --server.allowedHosts=app.example.edu.",
    )
    parser.add_argument("--port", type=int, default=8501, help="of the server (%(default)s)")
    parser.add_argument("--host", default="localhost", help="it listens on; 0.0.0.0 for every address (%(default)s)")
    parser.add_argument(
        "--models",
        action="append",
        default=[],
        metavar="PATH",
        help="a model folder, a .gguf file, or a folder of these",
    )
    parser.add_argument("--lessons", metavar="FOLDER", help="lessons of your own (docs/teaching.md)")
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the app until it is interrupted.

    Args:
        arguments: of the command line; by default the process's own.

    Raises:
        SystemExit: the arguments are wrong, or the server ended.
    """
    wanted, more = parser().parse_known_args(arguments)
    if wanted.frame_ancestors and not wanted.public:
        parser().error("--frame-ancestors is for --public")
    present = os.environ.get(MODELS)
    if paths := [*wanted.models, *([present] if present else [])]:
        os.environ[MODELS] = os.pathsep.join(paths)
    if wanted.lessons:
        os.environ[LESSONS] = wanted.lessons
    if wanted.frame_ancestors:
        os.environ[FRAMES] = wanted.frame_ancestors
    options = [f"--server.port={wanted.port}", f"--server.address={wanted.host}"]
    if wanted.public or wanted.no_browser:
        options.append("--server.headless=true")
    script = site() / ("serve.py" if wanted.public else "app.py")
    cli.main(["run", str(script), *options, *more], prog_name="viz-model")
