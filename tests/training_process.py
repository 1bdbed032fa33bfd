"""Trains a tiny recipe in a process of its own, which tests kill or start twice, and tells every step.
``python tests/training_process.py FOLDER [KIND …] [--hang BYTES]``"""

import argparse
import io
import os
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

import torch

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from training_data import data_of, tiny_recipe

from viz_model.config import Kind
from viz_model.training import log, loop
from viz_model.training.__main__ import is_first, processes
from viz_model.training.recipe import Recipe


def recipe_of(kind: Kind) -> Recipe:
    """With dropout, both optimizers, and an odd number of rows."""
    return tiny_recipe(kind, dropout=0.1, label_smoothing=0.1, optimizer="muon", steps=24)


def double_recipe(kind: Kind) -> Recipe:
    """Without what differs between one process and two: each drops other values."""
    return tiny_recipe(kind, optimizer="muon", label_smoothing=0.1, steps=6, decay_steps=2)


def save_slowly(n_bytes: int) -> None:
    """Let every checkpoint stand half-written for a while, so that a kill can find it like that."""
    save = torch.save

    def slow(state: Any, file: BinaryIO) -> None:
        whole = io.BytesIO()
        save(state, whole)
        file.write(whole.getvalue()[:n_bytes])
        file.flush()
        print("saving", flush=True)
        time.sleep(0.05)
        file.write(whole.getvalue()[n_bytes:])

    torch.save = slow  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", default=["decoder"])
    parser.add_argument("--hang", type=int, default=None, help="stop for a moment after so many bytes of a checkpoint")

    parser.add_argument("--double", action="store_true", help="double precision, and no dropout")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.hang is not None:
        save_slowly(args.hang)
    with processes("cpu") as device:
        for kind in args.kinds:
            train(args.folder, cast(Kind, kind), device, args)


def train(folder: Path, kind: Kind, device: torch.device, args: argparse.Namespace) -> None:
    chosen, model = recipe_of(kind), None
    if args.double:
        chosen = double_recipe(kind)
        model = loop.new_model(chosen).double()
    rank = int(os.environ.get("RANK", 0))
    (folder / kind).mkdir(parents=True, exist_ok=True)
    with (folder / kind / f"log-{rank}.jsonl").open("a") as written:
        more: dict[str, Any] = {"model": model, "device": device, "save_every": -1, "half_precision": False}
        for report in loop.train(chosen, data_of(chosen), folder / kind, **more):
            written.write(log.line(report))
            written.flush()
            if is_first():
                print(report.step, flush=True)


if __name__ == "__main__":
    main()
