"""Environments that have all that ours has but the package itself, and kernels that run in them."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def without_the_package(folder: Path) -> Path:
    """A virtual environment with links to everything that is installed here besides the package: its Python.

    A truly empty one would download gigabytes. pip sees what is linked as installed, and installs the rest.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    told = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip())
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "viz_model" not in path.name and path.name != "__pycache__":
            (packages / path.name).symlink_to(path)
    return python


def wheel(folder: Path) -> Path:
    """The package's wheel, in a folder where pip finds it (``PIP_FIND_LINKS``)."""
    told = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(told, check=True)
    (made,) = folder.glob("viz_model-*.whl")
    return made


def kernel(python: Path, folder: Path) -> Path:
    """A kernel of this Python, called ``fresh``, for whoever looks in ``JUPYTER_PATH``: that folder."""
    place = folder / "kernels" / "fresh"
    place.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    told = {"argv": argv, "display_name": "fresh", "language": "python", "env": {"PYTHONPATH": ""}}
    (place / "kernel.json").write_text(json.dumps(told), encoding="utf-8")
    return folder
