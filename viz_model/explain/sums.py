"""A logit as an exact sum: what every part of the model wrote, carried to the output through what stands in between.

With the factors held by which this run's norms divided, the parts add up to the logit to the last digit ("direct logit
attribution": Elhage et al. 2021, A Mathematical Framework for Transformer Circuits; nostalgebraist 2020). The factors
were made by all parts together, so a share says what a part adds, not what would happen without it.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from viz_model.explain.written import Decomposition, Kind, Part, behind
from viz_model.measures.lens import predicts
from viz_model.model import sites, stored
from viz_model.runs.measures import SINK_WEIGHT
from viz_model.runs.trace import Trace

Against = int | Literal["average"] | None
"""What a logit is compared with: another token's logit, the mean over the vocabulary, or nothing."""


class Attribution(NamedTuple):
    """``total``, what the run recorded, as the sum of ``values`` [P], one for each of ``parts``.

    ``directions``, maps + 1 of [D], are what a vector is multiplied with at each stage of its way; P includes the bias
    of the unembedding, where there is one.
    """

    parts: tuple[Part, ...]
    values: np.ndarray
    total: float
    directions: tuple[Tensor, ...]

    def order(self) -> np.ndarray:
        """The rows by |value| downwards."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def of(self, part: Part) -> float:
        """The value of one part.

        Raises:
            ValueError: there is no such part.
        """
        return float(self.values[self.parts.index(part)])

    def lifts(self) -> tuple[float, ...]:
        """The shares that the parts above 0 have in their sum, the largest first."""
        up = np.sort(self.values[self.values > 0])[::-1]
        return tuple(map(float, up / up.sum())) if len(up) else ()

    def by_kind(self) -> dict[str, float]:
        """The same sum in four: what was embedded, what heads read, feed-forward layers, and what every text gets."""
        groups: dict[str, tuple[Kind, ...]] = {
            "embedding": ("token", "patch", "segment", "position", "input"),
            "attention": ("head",),
            "ffn": ("ffn",),
            "constant": ("bias", "shift", "dense", "prior"),
        }
        return {
            name: float(sum(v for part, v in zip(self.parts, self.values, strict=True) if part.kind in kinds))
            for name, kinds in groups.items()
        }


@torch.inference_mode()
def of_logit(trace: Trace, decomposition: Decomposition, token: int, against: Against = None) -> Attribution:
    """The logit of the vocabulary's ``token`` at the position of ``decomposition``, less what it is compared with.

    Where a cap follows, it is the logit before it: that is the sum of what the parts add.

    Raises:
        ValueError: no logits are made of these vectors.
    """
    if not predicts(trace):
        raise ValueError("no logits are made of these vectors")
    unembedding, position = trace.model.unembedding, decomposition.at_one
    total = less(trace.row("raw_logits" if "raw_logits" in trace else "logits", position), token, against)
    bias = None if unembedding.bias is None else less(unembedding.bias.detach(), token, against).item()
    return _along(decomposition, less(stored.table(unembedding), token, against), total.item(), bias)


def less(values: Tensor, token: int, against: Against) -> Tensor:
    """What stands for a token of the vocabulary, less what it is compared with: of [V, …] float64."""
    own = values[token].cpu().double()
    if against is None:
        return own
    other = values.mean(0, dtype=torch.float32) if against == "average" else values[against]
    return own - other.cpu().double()


@torch.inference_mode()
def of_vector(trace: Trace, decomposition: Decomposition) -> Attribution:
    """The length of the last vector as a sum: what each part adds in that vector's own direction.

    It is what can be asked of a stack that ends in vectors.

    Raises:
        ValueError: this stack ends in logits.
    """
    if predicts(trace):
        raise ValueError("these vectors are read by an unembedding: ask for a logit")
    last = trace[trace.leaving][decomposition.at_one].double()
    length = last.norm()
    return _along(decomposition, last / length.clamp(min=1e-12), length.item(), None)


def _along(decomposition: Decomposition, direction: Tensor, total: float, prior: float | None) -> Attribution:
    seen = decomposition.directions(direction)
    stages = zip(decomposition.written, decomposition.passed, strict=True)
    values = np.array([float(vector @ seen[passed]) for vector, passed in stages])
    if prior is None:
        return Attribution(decomposition.parts, values, total, seen)
    return Attribution((*decomposition.parts, Part("prior")), np.append(values, prior), total, seen)


@torch.inference_mode()
def pushes(trace: Trace, decomposition: Decomposition, vectors: Tensor, passed: int) -> np.ndarray:
    """What vectors [N, D] add to every logit, less their mean over the vocabulary: [N, V].

    The mean is taken away because softmax does not see it: only a push beyond that of the average token changes a
    probability. ``passed`` is how many maps lie behind the vectors (:attr:`Decomposition.passed`).

    Raises:
        ValueError: no logits are made of these vectors.
    """
    if not predicts(trace):
        raise ValueError("no logits are made of these vectors")
    logits = stored.products(decomposition.carry(vectors, passed).float(), trace.model.unembedding)
    pushed: np.ndarray = (logits - logits.mean(-1, keepdim=True)).numpy()
    return pushed


@torch.inference_mode()
def neurons(trace: Trace, decomposition: Decomposition, answer: Attribution) -> np.ndarray:
    """What every hidden neuron adds to ``answer``: value · (its value vector · direction), [L, F].

    A layer with fewer neurons than another has no number for those it lacks. Over the neurons of a layer they sum to
    the feed-forward layer's value, less its bias's, and less what it writes without them, such as an expert that every
    token meets.
    """
    rows = []
    for layer in range(trace.n_layers):
        if not sites.n_neurons(trace.config, trace.stack.side, layer):
            rows.append(torch.zeros(0, dtype=torch.float64))
            continue
        direction = answer.directions[decomposition.passed[decomposition.row(Part("ffn", layer))]]
        direction = behind(trace, decomposition.at_one, layer, "ffn").back(direction)
        down = trace.stack.block(layer).ffn.down.weight.detach()  # [D, F]
        act = trace.row(f"blocks.{layer}.ffn.act", decomposition.at_one)
        rows.append(act.double() * (direction.float() @ down).double())
    return pad_sequence(rows, batch_first=True, padding_value=math.nan).numpy()


class Reads(NamedTuple):
    """One head at one query, over the Tk keys.

    The weight of a key says how much of its value is taken, not how much there is to take: what arrives is α·v·W_O, and
    its length can be next to nothing where the weight is largest (Kobayashi et al. 2020, "Attention is Not Only a
    Weight"; such keys are often called sinks: Xiao et al. 2023).

    Attributes:
        weights: [Tk] α, the row of the pattern.
        lengths: [Tk] ‖α v W_O‖, how long a vector arrives from each key.
        values: [Tk] α v W_O · direction, how much of the head's share of what is asked comes from each key.
        written: [D], their sum: what the head writes.
    """

    weights: np.ndarray
    lengths: np.ndarray
    values: np.ndarray
    written: Tensor

    @property
    def shares(self) -> np.ndarray:
        """[Tk]: ``lengths`` divided by their sum, to stand beside the weights."""
        return self.lengths / max(float(self.lengths.sum()), 1e-12)

    @property
    def most(self) -> int:
        """The key from which the longest vector arrives."""
        return int(self.lengths.argmax())

    @property
    def least(self) -> int:
        """Of the keys that a sink could be, by their weight, the one that gives least for it."""
        return int(np.where(self.weights < SINK_WEIGHT, np.inf, self.shares / self.weights.clip(1e-12)).argmin())


@torch.inference_mode()
def reads(trace: Trace, decomposition: Decomposition, answer: Attribution, part: Part) -> Reads:
    """What a head reads at the position of ``decomposition``, measured against ``answer``.

    The keys of a head by which a decoder reads its encoder are the source's.

    Raises:
        ValueError: the part is no head, or not one of this stack's.
    """
    if part.layer is None or part.head is None:
        raise ValueError(f"{part.site} is no head")
    passed = decomposition.passed[decomposition.row(part)]
    block, at = trace.stack.block(part.layer), f"blocks.{part.layer}.{part.at}"
    attention = block.attn if part.at == "attn" or block.cross is None else block.cross
    weights = trace.row(f"{at}.pattern", decomposition.at_one, part.head).double()  # [Tk]
    values = trace.head(f"{at}.v", part.head)  # [Tk, K]
    w_o = attention.o.weight.detach().T.unflatten(0, (trace.config.n_heads, -1))[part.head]  # [K, D]
    norm_behind = behind(trace, decomposition.at_one, part.layer, part.at)
    arriving = norm_behind.forward(weights[:, None] * (values @ w_o).double())  # [Tk, D]
    return Reads(
        weights=weights.numpy(),
        lengths=arriving.norm(dim=-1).numpy(),
        values=(arriving @ answer.directions[passed]).numpy(),
        written=arriving.sum(0),
    )
