"""Whether a model's weights fit into memory, asked before any of it is spent."""

from __future__ import annotations

import os
from pathlib import Path

ANYWAY = "VIZ_MODEL_ANY_SIZE"
"""A variable of the environment: set, models larger than what is free are loaded all the same."""
_CGROUP = Path("/sys/fs/cgroup")


def refusal(n_parameters: int) -> str | None:
    """Why so many numbers in single precision cannot be loaded; None where they can, or where nobody knows."""
    needed, free = 4 * n_parameters, available()
    if free is None or needed <= free or os.environ.get(ANYWAY):
        return None
    return (
        f"{n_parameters:,} parameters take {needed / 1e9:.1f} GB in single precision, and {free / 1e9:.1f} GB are "
        f"free; take a smaller model, or set {ANYWAY}=1 to load it anyway"
    )


def available() -> int | None:
    """Bytes that can be taken without driving anything out: of the machine, or of a container's share of it."""
    found = [free for free in (_machine(), _container()) if free is not None]
    return min(found) if found else None


def _machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _container() -> int | None:
    try:
        most, now = (int((_CGROUP / f"memory.{name}").read_text()) for name in ("max", "current"))
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return most - now + int(stat.get("inactive_file", 0))
    except (OSError, ValueError):  # no limit is written as a word
        return None
