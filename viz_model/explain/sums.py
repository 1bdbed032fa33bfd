"""A logit as an exact sum: what every part of the model wrote, carried to the output through what stands in between.

With the factors held by which this run's norms divided, the parts add up to the logit to the last digit ("direct logit
attribution": Elhage et al. 2021, A Mathematical Framework for Transformer Circuits; nostalgebraist 2020). The factors
were made by all parts together, so a share says what a part adds, not what would happen without it.
"""

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from viz_model.explain.written import Decomposition, Kind, Part, behind, rows
from viz_model.measures.lens import predicts
from viz_model.model import sites, stored
from viz_model.runs.measures import SINK_WEIGHT
from viz_model.runs.trace import Trace

Against = int | Literal["average"] | None
"""What a logit is compared with: another token's logit, the mean over the vocabulary, or nothing."""


class Attribution(NamedTuple):
    """``total``, what the run recorded, as the sum of ``values`` [.., P], one for each of ``parts``.

    ``directions``, maps + 1 of [.., D], are what a vector is multiplied with at each stage of its way; P includes the
    bias of the unembedding, where there is one. Of several positions, [T, ..] of them all, the total too.
    """

    parts: tuple[Part, ...]
    values: np.ndarray
    total: Any
    directions: tuple[Tensor, ...]

    def at(self, place: int) -> "Attribution":
        """That of one of several positions."""
        seen = tuple(direction[place] for direction in self.directions)
        return self._replace(values=self.values[place], total=float(self.total[place]), directions=seen)

    def order(self) -> np.ndarray:
        """The rows by |value| downwards."""
        return np.argsort(-np.abs(self.values), axis=-1, kind="stable")

    def of(self, part: Part) -> Any:
        """The value of one part.

        Raises:
            ValueError: there is no such part.
        """
        return self.values[..., self.parts.index(part)]

    def lifts(self) -> np.ndarray:
        """The shares that the parts above 0 have in their sum, the largest first, and 0 for all others: [.., P]."""
        up = -np.sort(-np.maximum(self.values, 0), axis=-1)
        return up / np.maximum(up.sum(-1, keepdims=True), 1e-300)

    def by_kind(self) -> dict[str, Any]:
        """The same sum in four: what was embedded, what heads read, feed-forward layers, and what every text gets."""
        groups: dict[str, tuple[Kind, ...]] = {
            "embedding": ("token", "patch", "segment", "position", "input"),
            "attention": ("head",),
            "ffn": ("ffn",),
            "constant": ("bias", "shift", "dense", "prior"),
        }
        return {
            name: self.values[..., [part.kind in kinds for part in self.parts]].sum(-1)
            for name, kinds in groups.items()
        }


@torch.inference_mode()
def of_logit(trace: Trace, decomposition: Decomposition, token: Any, against: Any = None) -> Attribution:
    """The logit of the vocabulary's ``token`` at the position of ``decomposition``, less what it is compared with.

    Where a cap follows, it is the logit before it: that is the sum of what the parts add. Of several positions T
    ``token`` is one for each, an array [T], and so is a token that it is compared with.

    Raises:
        ValueError: no logits are made of these vectors.
    """
    if not predicts(trace):
        raise ValueError("no logits are made of these vectors")
    unembedding = trace.model.unembedding
    logits = rows(trace, _read(trace), decomposition.position)
    total = less(logits, token, against) if logits.dim() == 1 else _less_each(logits, token, against)
    bias = None if unembedding.bias is None else less(unembedding.bias.detach(), token, against)
    return _along(decomposition, less(stored.table(unembedding), token, against), total, bias)


def _read(trace: Trace) -> str:
    return "raw_logits" if "raw_logits" in trace else "logits"


def total(trace: Trace, position: int, token: int | None, against: Against = None) -> float:
    """What is taken apart, of a run that is not: a logit, or without a ``token`` the length of the last vector."""
    if token is None:
        return trace.row(trace.leaving, position).double().norm().item()
    return less(trace.row(_read(trace), position), token, against).item()


def less(values: Tensor, token: Any, against: Any) -> Tensor:
    """What stands for a token of the vocabulary, less what it is compared with: of [V, …] float64; or for several."""
    own = values[token].cpu().double()
    if against is None:
        return own
    other = values.mean(0, dtype=torch.float32) if isinstance(against, str) else values[against]
    return own - other.cpu().double()


def _less_each(values: Tensor, tokens: Any, against: Any) -> Tensor:
    """The same of a token for each row of [T, V]."""
    rivals = [against] * len(values) if against is None or isinstance(against, str) else against
    return torch.stack([less(*one) for one in zip(values, tokens, rivals, strict=True)])


@torch.inference_mode()
def of_vector(trace: Trace, decomposition: Decomposition) -> Attribution:
    """The length of the last vector as a sum: what each part adds in that vector's own direction.

    It is what can be asked of a stack that ends in vectors.

    Raises:
        ValueError: this stack ends in logits.
    """
    if predicts(trace):
        raise ValueError("these vectors are read by an unembedding: ask for a logit")
    last = rows(trace, trace.leaving, decomposition.position).double()
    length = last.norm(dim=-1)
    return _along(decomposition, last / length[..., None].clamp(min=1e-12), length, None)


def _along(decomposition: Decomposition, direction: Tensor, total: Tensor, prior: Tensor | None) -> Attribution:
    seen = decomposition.directions(direction)
    stages = zip(decomposition.written, decomposition.passed, strict=True)
    values = [(vector * seen[passed]).sum(-1) for vector, passed in stages]
    parts = decomposition.parts
    if prior is not None:
        parts, values = (*parts, Part("prior")), [*values, prior]
    whole = total.numpy() if total.dim() else total.item()
    return Attribution(parts, torch.stack(values, -1).numpy(), whole, seen)


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
    added = []
    for layer in range(trace.n_layers):
        if not sites.n_neurons(trace.config, trace.stack.side, layer):
            added.append(torch.zeros(0, dtype=torch.float64))
            continue
        direction = answer.directions[decomposition.passed[decomposition.row(Part("ffn", layer))]]
        direction = behind(trace, decomposition.at_one, layer, "ffn").back(direction)
        down = trace.stack.block(layer).ffn.down.weight.detach()  # [D, F]
        act = trace.row(f"blocks.{layer}.ffn.act", decomposition.at_one)
        added.append(act.double() * (direction.float() @ down).double())
    return pad_sequence(added, batch_first=True, padding_value=math.nan).numpy()


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
    weights = trace.row(f"blocks.{part.layer}.{part.at}.pattern", decomposition.at_one, part.head).double()  # [Tk]
    norm_behind = behind(trace, decomposition.at_one, part.layer, part.at)
    arriving = norm_behind.forward(weights[:, None] * _carried(trace, part))  # [Tk, D]
    return Reads(
        weights=weights.numpy(),
        lengths=arriving.norm(dim=-1).numpy(),
        values=(arriving @ answer.directions[passed]).numpy(),
        written=arriving.sum(0),
    )


@torch.inference_mode()
def reading(trace: Trace, part: Part) -> np.ndarray | None:
    """From which key a head sends each query the longest vector (:attr:`Reads.most`): int64 [Tq]; None of no head."""
    site, head = f"blocks.{part.layer}.{part.at}", part.head or 0
    if part.kind != "head" or part.layer is None or f"{site}.pattern" not in trace:
        return None
    vectors, held = _carried(trace, part), behind(trace, slice(None), part.layer, part.at)
    places = [slice(n, n + 1) for n in range(len(trace))] if held.factor.dim() > 1 else [slice(None)]
    lengths = torch.stack([held.at(place).forward(vectors).norm(dim=-1) for place in places])
    most: np.ndarray = (trace.head(f"{site}.pattern", head) * lengths).argmax(-1).numpy()
    return most


def _carried(trace: Trace, part: Part) -> Tensor:
    """The values of a head times W_O, what each key would send with a weight of 1: [Tk, D]."""
    block = trace.stack.block(part.layer or 0)
    attention = block.attn if part.at == "attn" or block.cross is None else block.cross
    w_o = attention.o.weight.detach().T.unflatten(0, (trace.config.n_heads, -1))[part.head or 0]  # [K, D]
    return (trace.head(f"blocks.{part.layer}.{part.at}.v", part.head or 0) @ w_o).double()
