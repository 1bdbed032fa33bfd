"""The training loop, as a generator of what each step did."""

import contextlib
import ctypes
import json
import math
import os
import statistics
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from viz_model.checkpoints.registry import load
from viz_model.checkpoints.weights import ModelError
from viz_model.model.transformer import Transformer
from viz_model.training import checkpoint, from_attention, objective
from viz_model.training.batches import Batches
from viz_model.training.checkpoint import TrainingError
from viz_model.training.recipe import Recipe, Round, completed, until_decay
from viz_model.training.upcycle import balance, upcycle, watched

SAVE_EVERY_SECONDS = 60.0
LATEST = "checkpoint.pt"
ALIGNED = "aligned.jsonl"
"""How far DeltaNets were from attention, by step of their alignment."""
BEFORE_DECAY = "before-decay.pt"
"""Kept beside the latest checkpoint: from here a run can be made longer."""
LOGGED_BATCHES = 4
"""Held-out batches measured while training: the same ones each time, so that the curve is of one text."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers of these parameters in glibc's ``malloc.h``."""


@dataclass(frozen=True)
class StepReport:
    """What one step did.

    Attributes:
        step: from 0.
        loss: what was minimized, in nats for each token asked for; with label smoothing, of the smoothed target.
        learning_rate: of this step.
        gradient_norm: of all parameters, before clipping.
        gradient_norms: of each part of the model, named as its parameters are (``decoder.blocks.0``).
        tokens_per_second: tokens asked for, of all processes.
        held_out: figures by language, where this step measured them.
        balance: how evenly routers spread the tokens, mean over layers, 1 where evenly; None without experts.
    """

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    gradient_norms: dict[str, float]
    tokens_per_second: float
    held_out: dict[str, dict[str, float]] | None = None
    balance: float | None = None


def new_model(recipe: Recipe) -> Transformer:
    """The model before its first step.

    Raises:
        TrainingError: the model that it begins from is not bundled, or has other weights.
    """
    torch.manual_seed(recipe.seed)
    model = Transformer(recipe.config, recipe.rounds[0].dropout)
    if recipe.begin_from:
        try:
            begun = load(recipe.begin_from).model
            if recipe.frozen:
                for name in upcycle(model, begun):
                    model.get_parameter(name).requires_grad_(False)
            elif recipe.config.has_states:
                from_attention.take_over(model, begun)
            else:
                model.load_state_dict(begun.state_dict())
        except (KeyError, ModelError, RuntimeError) as error:
            raise TrainingError(f"begin_from: {recipe.begin_from!r}: {error}") from None
    return model


def optimizers_of(recipe: Recipe, model: Transformer, round_: Round | None = None) -> list[torch.optim.Optimizer]:
    """AdamW (Loshchilov & Hutter 2019), with weight decay on matrices alone.

    Where the recipe says Muon (Jordan et al. 2024), that takes the matrices inside the blocks, with
    steps of the size that AdamW's would have (Liu et al. 2025, section 2.2), and AdamW the rest.

    Args:
        round_: by default the recipe's first.
    """
    round_ = recipe.rounds[0] if round_ is None else round_
    named = {name: p for name, p in model.named_parameters() if p.requires_grad}
    # A router's few rows are no map of the stream: made orthogonal, every step would move all of them alike.
    matrices = [name for name, p in named.items() if "blocks" in name and p.dim() == 2 and "router" not in name]
    inner = matrices if recipe.optimizer == "muon" else []
    rest = [p for name, p in named.items() if name not in inner]
    adamw = torch.optim.AdamW(
        [
            {"params": [p for p in rest if p.dim() >= 2], "weight_decay": round_.weight_decay},
            {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
        ],
        lr=round_.peak_rate,
        betas=recipe.betas,
        fused=True,
    )
    if not inner:
        return [adamw]
    muon = torch.optim.Muon(
        [named[name] for name in inner],
        lr=round_.peak_rate,
        weight_decay=round_.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    return [adamw, muon]


class _Run:
    """Everything of a run that a checkpoint holds."""

    def __init__(self, recipe: Recipe, model: Transformer) -> None:
        self.recipe, self.model = recipe, model
        self.begin_round(recipe.rounds[0])

    def begin_round(self, round_: Round) -> None:
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = round_.dropout
        self.optimizers = optimizers_of(self.recipe, self.model, round_)

    def zero_grad(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def update(self, rate: float) -> None:
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()

    def state(self, step: int) -> dict[str, Any]:
        return {
            "recipe": self.recipe.fingerprint,
            "falls_at": self.recipe.falls_at,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": step,
        }

    def resume(self, folder: Path) -> int:
        """Fill everything from the folder's checkpoint; the step to go on with.

        A recipe that was made longer goes on from where its rate had begun to fall, or from its
        former end, if it restarts there.
        """
        found = [saved for name in (LATEST, BEFORE_DECAY) if (saved := checkpoint.load(folder / name))]
        if not found:
            return 0
        saved = next((saved for saved in found if self._can_follow(saved)), None)
        if saved is None:
            raise TrainingError(f"{folder}: its checkpoint is of another recipe")
        step: int = saved["step"]
        round_ = self.recipe.round_at(step)
        self.begin_round(round_)
        self.model.load_state_dict(saved["model"])
        if step == round_.first:
            return step
        for optimizer, state in zip(self.optimizers, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        return step

    def _can_follow(self, saved: dict[str, Any]) -> bool:
        """Whether this run would have come by the checkpoint too."""
        described = completed(saved["recipe"])
        if described == self.recipe.fingerprint:
            return True
        if saved["step"] in self.recipe.restarts:
            return described == self.recipe.before(saved["step"]).fingerprint
        before_any_end = saved["step"] <= min(saved["falls_at"], self.recipe.falls_at)
        return bool(until_decay(described) == self.recipe.until_decay and before_any_end)


def train(
    recipe: Recipe,
    data: Batches,
    folder: Path | None = None,
    *,
    model: Transformer | None = None,
    device: torch.device | str = "cpu",
    half_precision: bool | None = None,
    save_every: float = SAVE_EVERY_SECONDS,
) -> Generator[StepReport, None, None]:
    """Train from the last checkpoint in ``folder``, or from the beginning; yield every step.

    A checkpoint holds weights, optimizer, schedule and step, and is replaced in one move: a run
    killed at any moment goes on from the last one and repeats the same steps. Closing the
    generator saves. Under ``torchrun`` every process calls this, trains on its part of each step's
    rows, and yields the same reports; the first of them writes.

    Args:
        folder: for checkpoints; None keeps nothing.
        model: trained in place, for whoever wants to look at it between steps; by default a new one.
        device: where it runs.
        half_precision: bfloat16 for matrix products; by default where that is faster.
        save_every: seconds between checkpoints.

    Raises:
        TrainingError: the loss or its gradient is no longer a number, the folder belongs to
            another recipe, or a checkpoint cannot be written.
    """
    device = torch.device(device)
    rank, world = (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)
    half_precision = is_bfloat16_fast(device) if half_precision is None else half_precision
    is_new = model is None and not (folder is not None and (folder / LATEST).exists())
    model = (new_model(recipe) if model is None else model).to(device).train()
    if is_aligned := is_new and recipe.aligned > 0:
        for step, missed in enumerate(align(recipe, model, data, device, half_precision)):
            if folder is not None and rank == 0:
                with (folder / ALIGNED).open("a") as written:
                    written.write(json.dumps({"step": step, "missed": missed}) + "\n")
    loss_of: nn.Module = objective.Objective(model, recipe.label_smoothing)
    if world > 1:
        loss_of = DistributedDataParallel(loss_of)
    run = _Run(recipe, model)
    first = 0 if folder is None else run.resume(folder)

    def save(step: int, name: str = LATEST) -> None:
        if folder is not None and rank == 0:
            checkpoint.save(folder / name, run.state(step))

    if is_aligned:
        save(0)
    falls_at, following = recipe.falls_at, {each.first: each for each in recipe.rounds[1:]}
    last_save, step = time.monotonic(), first
    try:
        for step in range(first, recipe.steps):
            began = time.monotonic()
            rate = recipe.rate(step)
            # Dropout is a function of the step too, or a resumed run would drop other values.
            torch.manual_seed((recipe.seed * 1_000_003 + step) * world + rank)
            batch = data.step(step)
            n_asked = batch.n_asked
            total, balances = torch.zeros((), device=device), list[float]()
            run.zero_grad()
            for portion in range(recipe.accumulate):
                part = batch.part(rank * recipe.accumulate + portion, of=world * recipe.accumulate)
                with torch.autocast(device.type, torch.bfloat16, enabled=half_precision), watched(model, balance) as by:
                    # DDP averages over processes; the loss is the mean over the tokens of all of them.
                    loss = loss_of(part.to(device)) * (world / n_asked)
                if of_layers := [one for ran in by.values() for one in ran]:
                    even = torch.stack(of_layers).mean()
                    balances.append(even.item())
                    (loss + recipe.balance / recipe.accumulate * even).backward()
                else:
                    loss.backward()
                total += loss.detach() / world
            if world > 1:
                distributed.all_reduce(total)
            norms = gradient_norms(model)
            norm = nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            if not math.isfinite(total.item()):
                raise TrainingError(f"step {step}: the loss is {total.item()}")
            if not torch.isfinite(norm):  # or the update would reach the next checkpoint
                raise TrainingError(f"step {step}: the gradient's norm is {norm.item()}")
            run.update(rate)

            seconds = time.monotonic() - began
            if step + 1 == falls_at:
                save(step + 1, BEFORE_DECAY)
            if step + 1 in following:
                run.begin_round(following[step + 1])
            last = step + 1 == recipe.steps
            measured = last or (step + 1) % recipe.validate_every == 0
            yield StepReport(
                step=step,
                loss=total.item(),
                learning_rate=rate,
                gradient_norm=norm.item(),
                gradient_norms=norms,
                tokens_per_second=n_asked / seconds,
                held_out=objective.figures(model, data, LOGGED_BATCHES) if measured else None,
                balance=statistics.fmean(balances) if balances else None,
            )
            if last or time.monotonic() - last_save > save_every:
                save(step + 1)
                last_save = time.monotonic()
    except GeneratorExit:
        save(step + 1)
        raise


def align(
    recipe: Recipe, model: Transformer, data: Batches, device: torch.device, half_precision: bool
) -> Iterator[list[float]]:
    """Train a model's DeltaNets to write what attention writes in the model that it begins from.

    Yields at every step how far each of them is from that (:func:`viz_model.training.from_attention.misses`). The
    windows are those that come after the recipe's own.
    """
    n, attending = recipe.aligned, load(recipe.begin_from).model.to(device)
    own = replace(recipe, steps=n, restarts=(), warmup=min(recipe.warmup, n // 4), peak_rate=recipe.aligned_rate,
                  decay_steps=n // 2)  # fmt: skip
    with from_attention.alone(model):
        run = _Run(own, model)
        for step in range(n):
            run.zero_grad()
            with torch.autocast(device.type, torch.bfloat16, enabled=half_precision):
                missed = from_attention.misses(model, attending, data.step(recipe.steps + step).to(device).ids)
            torch.stack(missed).sum().backward()
            nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], recipe.clip)
            run.update(own.rate(step))
            yield [each.item() for each in missed]


def begin_at_restart(recipe: Recipe, model: Transformer, folder: Path) -> None:
    """Write to ``folder`` the checkpoint of a run that has come to its last restart with these weights."""
    checkpoint.save(folder / LATEST, _Run(recipe, model).state(recipe.restarts[-1]))


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """Euclidean norm of the gradient of each part: the embedding, every block, what follows them."""
    squares: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            part = part_of(name)
            square = parameter.grad.detach().float().square().sum()
            squares[part] = squares[part] + square if part in squares else square
    return {part: square.sqrt().item() for part, square in squares.items()}


def part_of(parameter: str) -> str:
    """``decoder.blocks.0.attn.q.weight`` -> ``decoder.blocks.0``; outside of blocks the first two names."""
    names = parameter.split(".")
    return ".".join(names[:3] if "blocks" in names else names[: max(1, min(2, len(names) - 1))])


def is_bfloat16_fast(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 natively; where it does not, that is slower than single precision."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def trained_model(recipe: Recipe, folder: Path) -> Transformer:
    """The model in ``folder``'s checkpoint.

    Raises:
        TrainingError: there is none, or it is damaged.
    """
    saved = checkpoint.load(folder / LATEST)
    if saved is None:
        raise TrainingError(f"{folder}: holds no checkpoint")
    model = Transformer(recipe.config)
    model.load_state_dict(saved["model"])
    return model.eval()


def prepare_memory() -> None:
    """For a process that trains, before its first step; the libraries' defaults are made for other programs.

    glibc is told to use freed memory again rather than give it back to the system: every step needs
    the same megabytes, and given back they return a page at a time, each zeroed, which can take longer
    than the arithmetic. oneDNN keeps the machine code of its last 1,024 products; batches of many
    shapes fill that with gigabytes. Where there is neither, nothing changes.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the most that it takes
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
