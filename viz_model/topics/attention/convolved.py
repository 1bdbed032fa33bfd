"""A layer without attention weights: a short convolution, what it reads of the last tokens, and its kernels."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Worked
from viz_model.topics.attention import reads, state

SITES = ("enter", "entered", "convolved", "left", "out")
"""From the gate of what enters to what is written."""


def is_here(look: Look) -> bool:
    return look.has("attn.convolved")


def kernels(look: Look) -> np.ndarray:
    """The kernels of the selected layer, the token's own weight last: [D, W]."""
    kernel: np.ndarray = look.trace.stack.block(look.layer).attn.get_parameter("kernel").detach().numpy()
    return kernel


def tell(look: Look) -> Iterator[Line]:
    width, kernel = kernels(look).shape
    yield look.text("convolved", layer=look.layer_number, width=width, kernel=kernel)
    yield from state.others(look)


def draw(look: Look) -> Scene | None:
    """A row a token, a column a token that it reads: the share in what is written."""
    far = np.subtract.outer(np.arange(len(look)), np.arange(len(look)))
    seen = (far >= 0) & (far < kernels(look).shape[1])
    sites = ["attn.leave", "attn.entered", "attn.out"]
    return reads.drawn(look, look.once(reads.shares)[:, 0], seen, look.words("convolved_alt"), sites)


def read(look: Look) -> Iterator[Line]:
    if len(look) > reads.MOST:
        yield look.note("reads_many", most=reads.MOST)
    every = look.once(reads.shares)[:, 0]  # [L, T, T]
    own = every.diagonal(0, -2, -1)
    before = np.pad(every.diagonal(-1, -2, -1), ((0, 0), (1, 0)))
    shares = {"own": own, "before": before, "rest": every.sum(-1) - own - before}
    said = {name: look.by("layer token", share, "percent") for name, share in shares.items()}
    yield look.text("convolved_reads", token=look.token_named(), **said)


def sizes(look: Look) -> Scene:
    """A bar for each distance: how large the kernels' weights are there, averaged over the channels."""
    mean = np.abs(kernels(look)).mean(0)[::-1]
    names = [look.words("kernel_own"), *(f"−{n}" for n in range(1, len(mean)))]
    bars = chart.Bars(look.words("kernel"), mean.astype(np.float32), "value", "{{name}}\n{{value}}", "3")
    return look.drawn(chart.bars("attention.kernel", look.words("kernel_alt"), names, [bars]), ["attn.convolved"])


def hand(look: Look) -> tuple[Line | None, list[Worked], dict[str, str]]:
    """The first channel of the selected token, from its gate to what is written."""
    return None, [Worked((f"attention.hand_{n}",), look.site(f"attn.{n}"), (look.token, 0)) for n in SITES], {}


def numbers(look: Look) -> tuple[str, np.ndarray, list[str], list[str]]:
    site = look.site("attn.convolved")
    exact = look.trace[site].numpy()
    return look.trace.full_name(site), exact, list(look.labels), list(map(str, range(exact.shape[1])))
