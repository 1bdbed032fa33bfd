"""What a run leaves on disk, so that the next process goes on as if nothing had happened."""

import contextlib
import os
from pathlib import Path
from typing import Any

import torch


class TrainingError(RuntimeError):
    """Training that cannot go on. The message says why; the last checkpoint is intact."""


FIELDS = {"recipe", "falls_at", "model", "optimizers", "step"}


def save(path: Path, state: dict[str, Any]) -> None:
    """Replace ``path`` in one move: whoever is killed here leaves the old checkpoint or the new one.

    Raises:
        TrainingError: the disk refuses; the old checkpoint stands.
    """
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except (OSError, RuntimeError) as error:  # PyTorch's writer turns a full disk into a RuntimeError
        with contextlib.suppress(OSError):
            partial.unlink()
        raise TrainingError(f"{path}: cannot be written ({error}); the last good checkpoint is intact") from error


def load(path: Path) -> dict[str, Any] | None:
    """The state in ``path``, or None where there is no file.

    Raises:
        TrainingError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise TrainingError(f"{path}: not a checkpoint of ours, or damaged ({error})") from error
    if not isinstance(state, dict) or not state.keys() >= FIELDS:
        raise TrainingError(f"{path}: not a checkpoint of ours")
    return state
