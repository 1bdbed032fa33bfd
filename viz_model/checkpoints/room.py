"""In which type and where weights are kept, and whether they fit there: asked before any memory is spent."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

ANYWAY = "VIZ_MODEL_ANY_SIZE"
"""A variable of the environment: set, models larger than what is free are loaded all the same."""
DTYPE, DEVICE, THREADS = "VIZ_MODEL_DTYPE", "VIZ_MODEL_DEVICE", "VIZ_MODEL_THREADS"
"""Variables of the environment: what holds where a call says nothing of it."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TWO_BYTES = (torch.bfloat16, torch.float16)
LARGE = 2**30
"""Bytes in single precision from which on weights stay in the 16 bits of their file."""
MAPPED = 2**28
"""Bytes from which on weights stay in their file, which is mapped into memory."""
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Placing:
    """In which type and where weights are kept. None: as the file has them where they are many; in main memory."""

    dtype: torch.dtype | None = None
    device: torch.device | None = None

    def kept(self, n_weights: int, stored: torch.dtype) -> tuple[torch.dtype, torch.device]:
        """The type and the device of so many weights, which a file holds as ``stored``."""
        dtype = self.dtype or (stored if 4 * n_weights > LARGE else torch.float32)
        return dtype, self.device or torch.device("cpu")

    def packs(self, n_weights: int) -> bool:
        """Whether so many weights stay quantized where their file has them so."""
        is_here = self.device is None or self.device.type == "cpu"
        return self.dtype is None and is_here and 4 * n_weights > LARGE


ANYWHERE = Placing()


def placing(dtype: str | torch.dtype | None = None, device: str | torch.device | None = None) -> Placing:
    """What a caller asks for, or else the environment.

    Raises:
        ValueError: a type or a device that there is not.
    """
    dtype = dtype if dtype is not None else os.environ.get(DTYPE) or None
    device = device if device is not None else os.environ.get(DEVICE) or None
    if dtype == "auto":
        dtype = None
    elif isinstance(dtype, str):
        if dtype not in DTYPES:
            raise ValueError(f"dtype: expected auto, {', '.join(DTYPES)}, got {dtype[:40]!r}")
        dtype = DTYPES[dtype]
    elif dtype is not None and dtype not in DTYPES.values():
        raise ValueError(f"dtype: expected auto, {', '.join(DTYPES)}, got {dtype}")
    return Placing(dtype, None if device is None else _device(device))


def _device(given: str | torch.device) -> torch.device:
    try:
        found = torch.device(given)
        torch.empty(0, device=found).cpu()  # what is read of a run is in main memory
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        said = (" ".join(str(error).split()) or type(error).__name__)[:160]
        raise ValueError(f"device: {str(given)[:40]!r} is not here: {said}") from None
    return found


MOST_THREADS = 1024


def set_threads(threads: int | None = None) -> None:
    """Let PyTorch compute with so many threads, in the whole process; None: what the environment says, if anything.

    Raises:
        ValueError: not a whole number from 1 to :data:`MOST_THREADS`: with too many, PyTorch ends the process.
    """
    given = os.environ.get(THREADS) if threads is None else str(threads)
    if not given:
        return
    if not given.isdecimal() or not 1 <= int(given) <= MOST_THREADS:
        raise ValueError(f"threads: expected a whole number from 1 to {MOST_THREADS}, got {given[:40]!r}")
    torch.set_num_threads(int(given))


def is_mapped(n_weights: int, dtype: torch.dtype, stored: torch.dtype) -> bool:
    """Whether so many weights stay in their file: they are many, and kept as it has them."""
    return dtype == stored and dtype.itemsize * n_weights > MAPPED


def refusal(n_weights: int, dtype: torch.dtype, device: torch.device, stored: torch.dtype) -> str | None:
    """Why so many weights cannot be loaded; None where they can, or where nobody knows."""
    needed, free = dtype.itemsize * n_weights, available(device)
    if free is None or needed <= free or os.environ.get(ANYWAY):
        return None
    kept, smaller = _name(dtype), min(dtype, stored, key=lambda one: one.itemsize)
    other = f"keep its {_name(smaller)}, " if smaller != dtype else ""
    return (
        f"{n_weights:,} parameters take {needed / 1e9:.1f} GB in {kept}, and {free / 1e9:.1f} GB are "
        f"free; {other}take a smaller model, or set {ANYWAY}=1 to load it anyway"
    )


class Room(NamedTuple):
    """Bytes that weights need in the type of their files, and that are free, where anybody knows."""

    needed: int
    free: int | None


def of_files(model: Path) -> Room | None:
    """What the weights of a folder or a file need, before any is read; None where that is little."""
    files = [model] if model.is_file() else [*model.glob("*.safetensors")] or [*model.glob("*.bin")]
    needed = sum(file.stat().st_size for file in files)
    return Room(needed, available()) if needed >= LARGE else None


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def available(device: torch.device | None = None) -> int | None:
    """Bytes that can be taken without driving anything out: of a device, the machine, or a container's share of it."""
    if device is not None and device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
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
