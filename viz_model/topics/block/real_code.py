"""What real code does besides the equations, measured on a run: precision, clamping, chunks, and how weights begin."""

import copy
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from viz_model.claims import Claim, Verdict
from viz_model.config import ModelConfig
from viz_model.measures import stream
from viz_model.model import ops, sites
from viz_model.model.transformer import Transformer
from viz_model.runs.edits import ValueEdit
from viz_model.runs.record import again
from viz_model.runs.trace import Trace
from viz_model.values.leaves import Weight

HALF = np.float16
LARGEST = float(np.finfo(HALF).max)
MARGIN = 1000.0
"""What T5's code stays below the largest number of 16 bits, once something is infinite."""
STD = 0.02
"""Of the normal distribution that GPT-2, BERT and their successors begin with."""
MOST_FRESH = 20_000_000
"""Weights of a model of which two fresh copies are drawn to be compared."""


class Errors(NamedTuple):
    """The largest difference from the same in 64 bits: all in 16 bits, or 32 inside and the result in 16."""

    half: float
    mixed: float


def _added_up(values: np.ndarray) -> np.ndarray:
    """The sum over the last axis with every partial sum in the type of the values; NumPy's own would use 32 bits."""
    return np.add.accumulate(values, axis=-1, dtype=values.dtype)[..., -1:]


def _softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(-1, keepdims=True))
    found: np.ndarray = raised / _added_up(raised)
    return found


def _normalized(x: np.ndarray) -> np.ndarray:
    """x over the root of its mean square."""
    mean = _added_up(x * x) / x.dtype.type(x.shape[-1])
    found: np.ndarray = x / np.sqrt(mean)
    return found


def _errors(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> Errors:
    """``function`` on numbers of 16 bits, in 16 and in 32 bits, beside the same in 64."""
    given = x.astype(HALF)
    with np.errstate(all="ignore"):  # what overflows is what is looked for
        exact = function(given.astype(np.float64))
        found = (function(given), function(given.astype(np.float32)).astype(HALF))
        half, mixed = (float(np.abs(made.astype(np.float64) - exact).max()) for made in found)
    return Errors(half, mixed)


class Precision(NamedTuple):
    """Softmax and norm of a run in 16 bits: scores [H, Tq, Tk] of a layer, and what its first norm reads [T, D].

    ``squares`` is the largest sum of squares that a norm adds up there, which must stay below :data:`LARGEST`.
    """

    softmax: Errors
    norm: Errors
    n_keys: int
    squares: float


def precision(trace: Trace, layer: int) -> Precision:
    """A layer's softmax and norm in 16 and in 32 bits."""
    scores = trace[f"blocks.{layer}.attn.masked"].numpy()
    reads = trace.norm_input(f"blocks.{layer}.attn.norm").numpy()
    squares = float(np.square(reads.astype(np.float64)).sum(-1).max())
    return Precision(_errors(_softmax, scores), _errors(_normalized, reads), scores.shape[-1], squares)


class Clamped(NamedTuple):
    """One vector of the stream, enlarged until 16 bits overflow, and what a norm makes of it.

    ``largest`` is its largest magnitude as it is, and ``factor`` what it was enlarged by. ``infinite`` of its numbers
    became infinite, and ``lost`` of those of the norm are then no numbers; with the clamp there are ``lost_clamped``,
    and the result has ``cosine`` with the exact one.
    """

    largest: float
    factor: float
    infinite: int
    lost: int
    lost_clamped: int
    cosine: float


def clamped(trace: Trace, layer: int, token: int) -> Clamped:
    """The clamp of T5's code (transformers, ``T5Block``) on the vector that leaves a block."""
    vector = trace.row(f"blocks.{layer}.resid.out", token).double()
    largest = float(vector.abs().max())
    factor = 2 * LARGEST / (largest or 1.0)
    half = (factor * vector).half()
    held = half.clamp(-(LARGEST - MARGIN), LARGEST - MARGIN)
    bare, saved = (ops_norm(x.float()) for x in (half, held))
    cosine = torch.cosine_similarity(saved.double(), vector, dim=0).item()
    return Clamped(largest, factor, int(half.isinf().sum()), _lost(bare), _lost(saved), cosine)


def ops_norm(x: Tensor) -> Tensor:
    """x over the root of its mean square, in 32 bits."""
    return x / ops.rms(x, 0.0)


def _lost(x: Tensor) -> int:
    return int((~x.isfinite() | (x == 0)).sum())


class Chunk(NamedTuple):
    """The feed-forward layer on ``size`` positions at a time: bytes of hidden neurons, and the largest difference."""

    size: int
    nbytes: int
    apart: float


@torch.inference_mode()
def chunks(trace: Trace, layer: int) -> tuple[Chunk, ...]:
    """The feed-forward of a block over all T positions at once, and cut into chunks of fewer."""
    reads = trace[f"blocks.{layer}.ffn.norm.out"] if trace.norm_at in ("pre", "both") else _stream_read(trace, layer)
    ffn, hidden = trace.stack.block(layer).ffn, trace[f"blocks.{layer}.ffn.act"]
    whole = ffn(reads[None])[0]
    found = []
    for size in dict.fromkeys((len(reads), max(1, len(reads) // 2), max(1, len(reads) // 8), 1)):
        made = torch.cat([ffn(part[None])[0] for part in reads.split(size)])
        found.append(Chunk(size, size * hidden[0].nbytes, float((made - whole).abs().max())))
    return tuple(found)


def _stream_read(trace: Trace, layer: int) -> Tensor:
    """What the feed-forward of a block without a norm before it reads, [T, D]."""
    crosses = f"blocks.{layer}.resid.cross" in trace
    return trace[f"blocks.{layer}.resid.{'cross' if crosses else 'mid'}"]


class Fresh(NamedTuple):
    """A model of the run's config before any training, on the run's text.

    ``std`` is that of the weights of :func:`drawn`, ``lengths`` [S] the median length of the stream by depth,
    ``logits`` the standard deviation of the logits (None without logits).
    """

    std: float
    lengths: np.ndarray
    logits: float | None


def drawn(trace: Trace, layer: int) -> Weight:
    """The matrix of a block whose first values are told: W₁ or W_up, else another of its feed-forward, else W^Q."""
    block = (trace.site(name) for name in trace.sites if name.startswith(f"blocks.{layer}."))
    matrices = [weight for site in block for weight in site.weights if len(weight.shape) == 2]
    return max(matrices, key=lambda weight: (weight.name.endswith(".ffn.up.weight"), ".ffn." in weight.name))


@torch.inference_mode()
def fresh(trace: Trace, layer: int, seed: int = 0) -> dict[str, Fresh] | None:
    """Fresh models drawn as ours are ("xavier") and from N(0, 0.02²) ("normal"); None of a model that is too large."""
    if sum(parameter.numel() for parameter in trace.model.parameters()) > MOST_FRESH:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        xavier = Transformer(trace.config).eval()
        normal = copy.deepcopy(xavier)
        for module in normal.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=STD)
    return {"xavier": _fresh(xavier, trace, layer), "normal": _fresh(normal, trace, layer)}


def _fresh(model: Transformer, trace: Trace, layer: int) -> Fresh:
    run = again(trace, model)
    logits = float(run["logits"].std()) if "logits" in run else None
    std = float(model.get_parameter(drawn(trace, layer).name).std())
    return Fresh(std, np.median(stream.stream_lengths(run), axis=-1), logits)


MORE = 1.25
"""How many times as large an error is that is worth a word."""
ROUNDING = 1e-4
"""Differences up to here, of values about 1, come of another order of the same sums."""
INSIDE: Verdict[Errors] = Verdict("block.inside", Claim("helps", lambda errors: errors.half > MORE * errors.mixed > 0))
CLAMPED: Verdict[Clamped] = Verdict(
    "block.clamp", Claim("saves", lambda clamp: clamp.lost > 0 and clamp.lost_clamped == 0)
)
CHUNKED: Verdict[float] = Verdict(
    "block.chunks", Claim("equal", lambda apart: apart == 0), Claim("rounding", lambda apart: apart <= ROUNDING)
)


Place = Literal["sum", "sublayer", "weights", "hidden"]

PLACES: Mapping[Place, tuple[str, ...]] = {
    "sum": ("embed.out",),
    "sublayer": ("attn.out", "cross.out", "ffn.out"),
    "weights": ("attn.pattern", "cross.pattern"),
    "hidden": ("ffn.act",),
}
"""The embedding with its position and what sub-layers write (Vaswani et al. 2017, section 5.4), the attention weights
(its published code), and the hidden neurons (T5): the ends of the names of the values that are dropped."""


def places(config: ModelConfig) -> tuple[Place, ...]:
    """The places that a model has: a feed-forward may be without hidden neurons."""
    return tuple(place for place, ends in PLACES.items() if any(name.endswith(ends) for name in sites.table(config)))


class Seen(NamedTuple):
    """One value of the run: ``after`` = ``before`` · ``mask``, which is 0 or 1/(1 − p)."""

    before: np.ndarray
    mask: np.ndarray

    @property
    def after(self) -> np.ndarray:
        return self.before * self.mask


class Kept(dict[str, Seen]):
    """What was dropped in a run, by the full names of the values."""


@dataclass(frozen=True, kw_only=True)
class Drop(ValueEdit):
    """Dropout of one value: what :class:`torch.nn.Dropout` makes of it while training.

    Attributes:
        name: full, of the value.
        rate: p, with which each of its numbers becomes 0; the others are divided by 1 − p.
        seed: with the name, it decides which.
        kept: filled by the run.
    """

    tag: ClassVar[str] = "drop"
    name: str
    rate: float
    seed: int
    kept: Kept = field(compare=False, repr=False)

    def site(self, config: ModelConfig) -> str:
        return self.name

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        # By name, not in the order of the run: a long run computes parts of it again.
        draws = torch.Generator().manual_seed(seed_of(name, self.seed))
        mask = torch.empty_like(value).bernoulli_(1 - self.rate, generator=draws).div_(1 - self.rate)
        self.kept[name] = Seen(value[0].numpy(), mask[0].numpy())
        return value * mask


def seed_of(name: str, seed: int) -> int:
    """What the generator of one value begins with."""
    return zlib.crc32(f"{seed} {name}".encode())


def dropped(trace: Trace, places: Collection[Place], rate: float, seed: int) -> tuple[Trace, Kept]:
    """The text of an unchanged run once more, with dropout in all its layers at some places."""
    ends = tuple(end for place in places for end in PLACES[place])
    names = (name for name in sites.table(trace.config) if name.endswith(ends))
    kept = Kept()
    drops = [Drop(name=name, rate=rate, seed=seed, kept=kept) for name in names]
    return again(trace, edits=drops), kept
