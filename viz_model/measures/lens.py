"""The logit lens: what the model would say if it stopped after each block (nostalgebraist 2020).

The stream after a block goes straight to the model's own end: its final norm, then its head. Under Post-LN the norm
behind the last block is that end: every depth is read through it, with its γ and β, in place of its own norm.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from viz_model.measures.passage import put_together
from viz_model.model import sites
from viz_model.model.norms import Norm
from viz_model.runs.trace import Trace

# Multiplications for one picture: some tenths of a second on one core.
MOST_WORK = 2_000_000_000


class Lens(NamedTuple):
    """The most probable token at S depths and P positions.

    Attributes:
        depths: 0 is after the embedding, n after block n − 1.
        positions: [P], counted from 0.
        ids, probs: [S, P] the most probable token and its probability.
        own: [S, P] the probability of the token that stands at the position itself.
    """

    depths: tuple[int, ...]
    positions: np.ndarray
    ids: np.ndarray
    probs: np.ndarray
    own: np.ndarray


def predicts(trace: Trace) -> bool:
    """Whether the stack that ``trace`` is seen from ends in logits."""
    return trace.config.has_logits and trace.stack.side == trace.config.sides[-1]


def stream(trace: Trace, depth: int, positions: Sequence[int]) -> Tensor:
    """The residual stream after ``depth`` blocks, before a norm that stands on it: [P, D]."""
    if depth == 0:
        return trace["embed.out"][list(positions)]
    if put_together(trace) == "post":
        return trace.norm_input(f"blocks.{depth - 1}.ffn.norm")[list(positions)]
    return trace[f"blocks.{depth - 1}.resid.out"][list(positions)]


def last_norm(trace: Trace) -> Norm | None:
    """What the output reads the stream through: the final norm, or under Post-LN that of the last block."""
    if put_together(trace) == "post":
        found: Norm = trace.stack.block(trace.n_layers - 1).ffn_norm
        return found
    return trace.stack.final_norm


@torch.inference_mode()
def logits(trace: Trace, vectors: Tensor) -> Tensor:
    """Vectors of the stream [P, D], before a norm on it, through the model's own end: [P, V].

    Raises:
        ValueError: no logits are made of this stack's vectors.
    """
    if not predicts(trace):
        raise ValueError("no logits are made of these vectors")
    norm = last_norm(trace)
    read: Tensor = trace.model.head(vectors if norm is None else norm(vectors))
    return read


def read_site(trace: Trace) -> str:
    """The site of what the unembedding reads, [T, D]: the last vectors, or what the head made of them."""
    (read,) = trace.site("raw_logits" if "raw_logits" in trace else "logits").reads
    return sites.split_side(read.site)[1]


def affordable(trace: Trace, n_depths: int) -> int:
    """For how many positions, at so many depths, a picture is quickly made; at least one."""
    return max(1, MOST_WORK // (trace.config.n_vocab * trace.config.d_model * n_depths))


Reader: TypeAlias = Callable[[Trace, int, Sequence[int]], Tensor]
"""What a lens reads after so many blocks at some positions: the logits [P, V]."""


def plain(trace: Trace, depth: int, positions: Sequence[int]) -> Tensor:
    """The logit lens: through the model's own end."""
    return logits(trace, stream(trace, depth, positions))


def look(trace: Trace, depths: Sequence[int], positions: Sequence[int], read: Reader = plain) -> Lens:
    """The most probable token after so many blocks, at these positions."""
    probs = torch.stack([read(trace, depth, positions).softmax(-1) for depth in depths])  # [S, P, V]
    best = probs.max(-1)
    own = torch.tensor([trace.own_ids[position] for position in positions]).expand(len(depths), -1)
    itself = probs.gather(-1, own[..., None])[..., 0]
    places = np.array(positions, dtype=np.int64)
    return Lens(tuple(depths), places, best.indices.numpy(), best.values.numpy(), itself.numpy())


def ranks(trace: Trace, id: int, depths: Sequence[int], positions: Sequence[int], read: Reader = plain) -> np.ndarray:
    """The rank of one token (1 is first) after so many blocks, at these positions: [S, P]."""
    said = torch.stack([read(trace, depth, positions) for depth in depths])
    return (1 + (said > said[..., id, None]).sum(-1)).numpy()


def settled(ranks: np.ndarray) -> int | None:
    """The depth from which on a token is first to the end, of its ranks [S]; None where it is not first at the end."""
    later = np.flatnonzero(ranks != 1)
    start = int(later[-1]) + 1 if len(later) else 0
    return start if start < len(ranks) else None
