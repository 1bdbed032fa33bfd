"""Gradients at initialization by depth: what theorem 1 of Xiong et al. (2020) is about, measured.

The theorem (On Layer Normalization in the Transformer Architecture, ICML 2020, section 3.2) bounds
the gradient of the last block's second feed-forward matrix W₂ before any training, with Xavier
initialization: O(d·√ln d) under Post-LN whatever the depth L, O(d·√(ln d / L)) under Pre-LN. Behind
the second stands the final norm: its Jacobian falls like one over the length of what it reads, and
what it reads grows with every block.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from viz_model.model.transformer import Transformer
from viz_model.training import experiments, loop
from viz_model.training.batches import Batch

DRAWING = threading.Lock()
"""Fresh weights come from PyTorch's one generator, which two threads at once would mix up."""
Place = Literal["pre", "post"]
PLACES: tuple[Place, ...] = ("pre", "post")
DEPTHS = (2, 3, 4, 6, 8, 12, 16, 24)
SEEDS = 3
ROWS = 2
"""Windows of text that each gradient is of."""
THEORY: dict[Place, float] = {"pre": -0.5, "post": 0.0}
"""The exponents of L in the theorem's bounds."""


class Fit(NamedTuple):
    """y ≈ ``factor`` · xᵏ with k = ``exponent``, and the standard error of k."""

    exponent: float
    error: float
    factor: float

    def at(self, x: np.ndarray) -> np.ndarray:
        """The fitted curve at ``x``."""
        return self.factor * x**self.exponent


def power_law(x: np.ndarray, y: np.ndarray) -> Fit:
    """Least squares of log y on log x: x [N] and y [N, S], S measurements at each x.

    Raises:
        ValueError: there are fewer than three measurements, or all at one x.
    """
    logs = np.log(np.repeat(x, y.shape[1]).astype(float)), np.log(y.ravel())
    spread = logs[0] - logs[0].mean()
    if len(spread) < 3 or not spread.any():
        raise ValueError("a power law needs three measurements, and two different x")
    squares = float(spread @ spread)
    exponent = float(spread @ logs[1]) / squares
    offset = float(logs[1].mean() - exponent * logs[0].mean())
    residual = logs[1] - offset - exponent * logs[0]
    error = float(np.sqrt(residual @ residual / (len(residual) - 2) / squares))
    return Fit(exponent, error, float(np.exp(offset)))


class Start(NamedTuple):
    """One model before its first step.

    Attributes:
        gradients: ‖∂loss/∂W₂‖ (Frobenius) of each block asked for, from the first to the last.
        length: root mean square of the values of the stream that leaves the last block.
    """

    gradients: tuple[float, ...]
    length: float


class _LastStream:
    """A tap that keeps the stream as it leaves the last block it sees."""

    def __init__(self) -> None:
        self.found: Tensor | None = None

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if name == "resid.out":
            self.found = value.detach()
        return value

    def at(self, prefix: str) -> "_LastStream":
        return self

    def changes(self, name: str) -> bool:
        return False


def at_start(model: Transformer, batch: Batch, *, all_blocks: bool) -> Start:
    """The gradient of the mean cross-entropy of ``batch`` by W₂ of the last block, or of all of them.

    The model is left without gradients, and asks for none.
    """
    model.requires_grad_(False)
    stack = model.stack("decoder")
    layers = range(len(stack.blocks))
    weights = [stack.block(layer).ffn.down.weight.requires_grad_() for layer in (layers if all_blocks else layers[-1:])]
    tap = _LastStream()
    with torch.inference_mode(False), torch.enable_grad():
        logits = model(batch.ids, tap=tap)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.answers.flatten())
        gradients = torch.autograd.grad(loss, weights)
    model.requires_grad_(False)
    assert tap.found is not None  # every stack has a block
    return Start(
        tuple(gradient.norm().item() for gradient in gradients), tap.found.float().square().mean().sqrt().item()
    )


class DepthGradients(NamedTuple):
    """Fresh models of N depths, S of each, with the norm in both places.

    Attributes:
        depths: [N] numbers of blocks.
        last: ‖∂loss/∂W₂‖ of the last block, [N, S] a place.
        lengths: root mean square of the stream that leaves the last block, [N, S] a place.
        by_block: ‖∂loss/∂W₂‖ of every block of the deepest models, [L, S] a place.
        n_tokens: that each gradient is the mean over.
    """

    depths: np.ndarray
    last: dict[Place, np.ndarray]
    lengths: dict[Place, np.ndarray]
    by_block: dict[Place, np.ndarray]
    n_tokens: int


def gradients_by_depth(depths: Sequence[int] = DEPTHS, seeds: int = SEEDS) -> DepthGradients:
    """Measure fresh models, initialized as for training, on batches of the experiments' stories.

    Model s of each depth is drawn from seed s and reads batch s, the same for both places: what
    differs between Pre-LN and Post-LN is the place of the norm alone.

    Raises:
        ValueError: there is no depth or no seed to measure.
    """
    if not depths or seeds < 1:
        raise ValueError("there is nothing to measure: no depth, or no seed")
    data = experiments.data()
    rows = [data.step(seed) for seed in range(seeds)]
    read = [Batch(batch.ids[:ROWS], batch.answers[:ROWS]) for batch in rows]
    deepest = max(depths)
    found: dict[Place, list[list[Start]]] = {place: [] for place in PLACES}
    with torch.random.fork_rng(devices=[]):
        for place in PLACES:
            recipe = experiments.recipe(place, warmup=0)
            for depth in depths:
                config = replace(recipe.config, n_layers=depth)
                found[place].append(
                    [
                        at_start(
                            loop.new_model(replace(recipe, config=config, seed=seed)),
                            read[seed],
                            all_blocks=depth == deepest,
                        )
                        for seed in range(seeds)
                    ]
                )

    where = list(depths).index(deepest)
    return DepthGradients(
        depths=np.array(depths),
        last={place: np.array([[s.gradients[-1] for s in starts] for starts in rows]) for place, rows in found.items()},
        lengths={place: np.array([[s.length for s in starts] for starts in rows]) for place, rows in found.items()},
        by_block={place: np.array([s.gradients for s in rows[where]]).T for place, rows in found.items()},
        n_tokens=read[0].n_asked,
    )
