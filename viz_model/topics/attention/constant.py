"""What is kept of a text by layers with a state, which does not grow, and by layers that attend."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.config import DeltaNet, ModelConfig, ShortConv
from viz_model.drawing.digits import byte_size
from viz_model.drawing.plotted import axes, curve, marked
from viz_model.drawing.theme import ROLES
from viz_model.island.look import Look
from viz_model.island.page import Plot
from viz_model.island.prose import Line
from viz_model.measures import kv_cache

FARTHEST = 2**17
"""Tokens of the longest text that is counted."""


class Kept(NamedTuple):
    """Bytes that a model keeps of texts of ``lengths`` [S] tokens.

    Attributes:
        states: by the layers that hold a state, however long the text.
        attended: by the layers that attend, [S].
        instead: by all layers, had they all attended, [S].
        n: the length of this text, and ``here`` what is kept of it: (as it is, had all attended).
        even: from how many tokens on a state takes less than keys and values would.
    """

    lengths: np.ndarray
    states: int
    attended: np.ndarray
    instead: np.ndarray
    n: int
    here: tuple[int, int]
    even: int

    @classmethod
    def of(cls, config: ModelConfig, n: int, itemsize: int = 4) -> "Kept":
        lengths = np.unique(np.geomspace(1, FARTHEST, 60).round().astype(np.int64))
        states = kv_cache.cache(config, 0, None, itemsize).total

        def both(length: int) -> tuple[int, int]:
            own, instead = (
                kv_cache.cache(config, length, heads, itemsize).total for heads in (None, config.n_kv_heads)
            )
            return own, instead

        own, instead = (np.array(each) for each in zip(*map(both, lengths.tolist()), strict=True))
        even = states // (held(config) * 2 * config.n_kv_heads * config.d_head * itemsize) + 1
        return cls(lengths, states, own - states, instead, n, both(n), even)


def held(config: ModelConfig) -> int:
    """Layers that keep what does not grow."""
    return sum(isinstance(mixer, DeltaNet | ShortConv) for mixer in config.mixers)


def is_there(look: Look) -> bool:
    """Whether they keep anything: a convolution over a token alone does not."""
    return view(look).states > 0


KEPT: Verdict[Kept] = Verdict("attention.constant", Claim("more", lambda kept: kept.here[0] > kept.here[1]))
"""Of what is kept of this text."""


def view(look: Look) -> Kept:
    return look.once(lambda look: Kept.of(look.config, len(look), kv_cache.itemsize(look.trace)), "constant")


def draw(look: Look) -> Plot:
    """Bytes by length of the text, on logarithmic axes."""
    kept = view(look)
    total = kept.states + kept.attended
    ends = [math.log10(min(kept.states, kept.instead.min())) - 0.3, math.log10(kept.instead.max()) + 0.6]
    ticks = [2**power for power in range(0, 51, 5) if ends[0] < power * math.log10(2) < ends[1]]
    y = {"type": "log", "range": ends, "tickvals": ticks, "ticktext": [byte_size(n) for n in ticks]}
    figure = axes(look.words("constant_length"), look.words("constant_bytes"), 320, {"type": "log"}, **y)
    for name, values, role, dash in (
        ("instead", kept.instead, "key", "dash"), ("own", total, "query", "solid"),
        ("states" if look.config.has_states else "inputs", np.full(len(total), kept.states), "value", "dot"),
    ):  # fmt: skip
        curve(figure, kept.lengths, values, look.words(f"constant_{name}"), ROLES[role], dash=dash, width=3,
              at="T = {:,}", written=lambda n: byte_size(int(n)))  # fmt: skip
    marked(figure, kept.n, look.words("constant_here"))
    return Plot("attention.constant", figure, look.words("constant_alt"), kept)


def tell(look: Look) -> Iterator[Line]:
    kept, config = view(look), look.config
    numbers = {
        "n": f"{kept.n:,}", "states": f"{kept.states:,}", "own": f"{kept.here[0]:,}", "instead": f"{kept.here[1]:,}",
        "deltas": held(config), "layers": config.n_layers, "even": f"{kept.even:,}", "long": f"{FARTHEST:,}",
        "own_long": byte_size(int(kept.states + kept.attended[-1])), "instead_long": byte_size(int(kept.instead[-1])),
    }  # fmt: skip
    if not config.has_states:
        yield look.text("constant_inputs", **numbers)
        return
    yield Line(KEPT.says(look.t.language, kept, **numbers))
