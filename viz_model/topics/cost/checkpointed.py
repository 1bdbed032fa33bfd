"""A training step with gradient checkpointing and without: the bytes that wait for the backward pass, and the time."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig
from viz_model.measures.timing import timed
from viz_model.model.transformer import Transformer
from viz_model.runs.trace import Trace

Way = Literal["kept", "checkpointed"]
WAYS: tuple[Way, ...] = get_args(Way)
LONGEST = 256
"""Tokens of the text that a step is measured on, at the most."""


class Reading(NamedTuple):
    """One step, forward and backward.

    Attributes:
        held: bytes of the values that wait for the backward pass when the forward pass is over.
        most: the same and, of checkpointed blocks, what one of them makes anew while its gradient is taken.
        norm: the length of the whole gradient.
    """

    way: Way
    length: int
    seconds: float
    runs: int
    held: int
    most: int
    norm: float


SLOWER: Verdict[tuple[float, float]] = Verdict(
    "cost.checkpointed", Claim("slower", lambda seconds: seconds[1] > 1.05 * seconds[0])
)
"""Of the seconds of a step without and with checkpointing."""


def can(config: ModelConfig) -> bool:
    """Whether the measurement knows the model: one stack that reads a text and has logits."""
    return len(config.sides) == 1 and config.has_logits and not config.reads_pictures


def measure(trace: Trace) -> Iterator[Reading]:
    """Both ways on this text, repeated as far as the context allows; every token is to be predicted.

    Checkpointed, a block keeps what it was given and runs again in the backward pass (Chen et al. 2016).
    """
    length = min(LONGEST, trace.config.n_context)
    ids = torch.tensor([list(itertools.islice(itertools.cycle(trace.own_ids), length))])
    for way in WAYS:
        model = _copy(trace)
        inputs: list[Tensor] = []
        if way == "checkpointed":
            for block in model.stack(trace.config.sides[0]).blocks:
                block.forward = _again(block.forward, inputs)
        step = _step(model, ids)
        held = _bytes(step, model, inputs)
        one = max(_of_block(trace, layer, ids) for layer in range(trace.n_layers)) if way == "checkpointed" else 0
        _backward(step, None)  # to warm up
        seconds, runs = timed(partial(model.zero_grad, set_to_none=True), partial(_backward, step))
        norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm().item()
        yield Reading(way, length, seconds, runs, held, held + one, norm)


def _copy(trace: Trace) -> Transformer:
    """A model with the same weights whose gradient can be taken."""
    model = Transformer(trace.config)
    model.load_state_dict(trace.model.state_dict())
    return model.train().requires_grad_(True)


def _step(model: Transformer, ids: Tensor) -> Callable[[], Tensor]:
    return lambda: F.cross_entropy(model(ids)[0, :-1], ids[0, 1:])


def _backward(step: Callable[[], Tensor], _: None) -> None:
    step().backward()


def _again(forward: Callable[..., Tensor], inputs: list[Tensor]) -> Callable[..., Tensor]:
    def run(x: Tensor, *given: Any) -> Tensor:
        inputs.append(x)
        out: Tensor = checkpoint(forward, x, *given, use_reentrant=False)
        return out

    return run


def _bytes(run: Callable[[], Tensor], model: Transformer, inputs: list[Tensor]) -> int:
    """What waits for the backward pass, without the weights themselves; ``inputs`` are kept beside what is saved."""
    weights = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}
    found: dict[int, int] = {}

    def saved(one: Tensor) -> Tensor:
        storage = one.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes()
        return one

    inputs.clear()
    with torch.autograd.graph.saved_tensors_hooks(saved, lambda one: one):
        loss = run()
    for one in inputs:
        saved(one)
    inputs.clear()
    del loss
    return sum(found.values())


def _of_block(trace: Trace, layer: int, ids: Tensor) -> int:
    """What one block keeps when it runs anew."""
    model = _copy(trace)
    stack = model.stack(trace.config.sides[0])
    kept: list[int] = []
    forward = stack.block(layer).forward

    def run(*given: Any) -> Tensor:
        made: list[Tensor] = []

        def inner() -> Tensor:
            made.append(forward(*given))
            return made[0]

        kept.append(_bytes(inner, model, []))
        return made[0]

    stack.block(layer).forward = run  # type: ignore[method-assign, assignment]
    _step(model, ids)()
    return kept[0]
