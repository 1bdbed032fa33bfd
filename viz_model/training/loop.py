"""The training loop, as a generator of what each step did."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from viz_model.model import Transformer
from viz_model.training.corpus import Corpus, CorpusError, HeldOut, windows_of_step
from viz_model.training.recipes import Recipe

SAVE_EVERY_SECONDS = 60.0
LOGGED_WINDOWS = 32
"""Held-out windows measured while training: the same ones each time, so that the curve is of one text."""


class TrainingError(RuntimeError):
    """Training that cannot go on. The message says why; the last checkpoint is intact."""


@dataclass(frozen=True)
class StepReport:
    """What one step did. Losses are in nats a token, ``bits_per_byte`` is of held-out text."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_per_second: float
    bits_per_byte: dict[str, float] | None = None


def learning_rate(recipe: Recipe, step: int) -> float:
    """The rate of ``step`` (0-based): linear warm-up, then a cosine to a tenth of the peak."""
    if step < recipe.warmup:
        return recipe.peak_rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return recipe.peak_rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


@torch.inference_mode()
def bits_per_byte(model: Transformer, held_out: HeldOut, max_windows: int | None = None) -> float:
    """Cross-entropy on held-out text, in bits for each UTF-8 byte of that text.

    Windows do not overlap, so the first tokens of each are predicted from little context: an
    upper bound on the model's true figure. Every token of whole windows but the first of the
    stream is counted, end-of-text included.

    Raises:
        CorpusError: the text does not fill one window.
    """
    window = model.config.n_context
    ids = torch.from_numpy(held_out.ids.astype(np.int64))
    n_windows = (len(ids) - 1) // window
    if n_windows < 1:
        raise CorpusError(f"held-out text ({held_out.language}): {len(ids)} tokens do not fill a window of {window}")
    if max_windows is not None:
        n_windows = min(n_windows, max_windows)
    nats, counted = 0.0, 0
    for start in range(0, n_windows * window, 16 * window):
        stop = min(start + 16 * window, n_windows * window)
        inputs = ids[start:stop].view(-1, window)
        targets = ids[start + 1 : stop + 1]
        logits = model(inputs).flatten(0, 1)
        nats += F.cross_entropy(logits, targets, reduction="sum").item()
        counted += len(targets)
    bytes_per_token = held_out.n_bytes / len(held_out.ids)
    return nats / counted / math.log(2) / bytes_per_token


def train(recipe: Recipe, corpus: Corpus, folder: Path) -> Generator[StepReport, None, None]:
    """Train from the last checkpoint in ``folder``, or from the beginning; yield every step.

    A checkpoint holds weights, optimiser and step, and is replaced in one move: a run killed at
    any moment goes on from the last one and repeats the same steps. Closing the generator saves.

    Raises:
        TrainingError: the loss or its gradient is no longer a number, or the folder belongs to another recipe.
        CorpusError: the corpus is too small for one step, or its held-out text for one window.
    """
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.pt"
    config = recipe.config
    torch.manual_seed(recipe.seed)
    model = Transformer(config)
    optimiser = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": recipe.weight_decay},
            {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=recipe.peak_rate,
        betas=recipe.betas,
    )
    first = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        if saved["recipe"] != json.dumps(asdict(recipe), sort_keys=True):
            raise TrainingError(f"{folder}: its checkpoint is of another recipe")
        model.load_state_dict(saved["model"])
        optimiser.load_state_dict(saved["optimiser"])
        first = saved["step"]

    def save(step: int) -> None:
        _write_atomically(
            checkpoint,
            {
                "recipe": json.dumps(asdict(recipe), sort_keys=True),
                "model": model.state_dict(),
                "optimiser": optimiser.state_dict(),
                "step": step,
            },
        )

    last_save, step = time.monotonic(), first
    try:
        for step in range(first, recipe.steps):
            began = time.monotonic()
            rate = learning_rate(recipe, step)
            for group in optimiser.param_groups:
                group["lr"] = rate
            starts = windows_of_step(len(corpus.train), config.n_context, recipe.windows, step, recipe.seed)
            rows = np.stack([corpus.train[s : s + config.n_context + 1] for s in starts]).astype(np.int64)
            batch = torch.from_numpy(rows)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())
            if not torch.isfinite(loss):
                raise TrainingError(f"step {step}: the loss is {loss.item()}")
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            if not torch.isfinite(norm):  # or the update would reach the next checkpoint
                raise TrainingError(f"step {step}: the gradient's norm is {norm.item()}")
            optimiser.step()

            last = step + 1 == recipe.steps
            validate = last or (step + 1) % recipe.validate_every == 0
            seconds = time.monotonic() - began
            yield StepReport(
                step=step,
                loss=loss.item(),
                learning_rate=rate,
                gradient_norm=norm.item(),
                tokens_per_second=batch[:, 1:].numel() / seconds,
                bits_per_byte={held.language: bits_per_byte(model, held, LOGGED_WINDOWS) for held in corpus.held_out}
                if validate
                else None,
            )
            if last or time.monotonic() - last_save > SAVE_EVERY_SECONDS:
                save(step + 1)
                last_save = time.monotonic()
    except GeneratorExit:
        save(step + 1)
        raise


def trained_model(recipe: Recipe, folder: Path) -> Transformer:
    """The model in ``folder``'s checkpoint."""
    saved = torch.load(folder / "checkpoint.pt", weights_only=True)
    model = Transformer(recipe.config)
    model.load_state_dict(saved["model"])
    return model.eval()


def _write_atomically(path: Path, value: Any) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
