"""A logit as an exact sum: what every part of the model wrote, carried to the output through what stands in between.

Each embedding, head, feed-forward layer and bias adds a vector to the residual stream. What follows on a vector's way
to the logit is a norm (the final one; under Post-LN one after every addition), and of a masked model the head's own
layer. None of these is linear. But at the point that was measured each is a linear map: the norm subtracts the mean,
where it takes one, and multiplies by γ/σ, with the σ that this run measured; x·Φ(x) multiplies by the Φ(x) that it
measured. With these factors held, the parts add up to the logit to the last digit ("direct logit attribution": Elhage
et al. 2021, A Mathematical Framework for Transformer Circuits; nostalgebraist 2020). The factors were made by all
parts together, so a share says what a part adds, not what would happen without it. Of a run in which an intervention
changed the stream itself, the sum lacks what that added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from viz_model.measures.lens import predicts
from viz_model.model import ops, sites
from viz_model.model.attention import Attention
from viz_model.model.feedforward import slopes
from viz_model.model.heads import MaskedHead
from viz_model.model.norms import Norm
from viz_model.runs.measures import SINK_WEIGHT
from viz_model.runs.trace import Trace

Kind = Literal[
    "token", "patch", "segment", "position", "head", "bias", "ffn", "shift", "dense", "prior", "projection", "distance"
]
Against = int | Literal["average"] | None
"""What a logit is compared with: another token's logit, the mean over the vocabulary, or nothing."""


class Part(NamedTuple):
    """One thing that writes. ``at`` tells attentions and norms apart: "attn", "cross", "ffn", "embed", "final", "head".

    ``kind`` is "bias" of W_O, "shift" of a norm (its β), "dense" for the bias of a masked head's own layer, and
    "prior" for the bias of the unembedding, which is not a vector but a number for each token. In a score
    "projection" is the bias of W_Q or W_K (``at`` is like "attn.q"), and "distance" what the places alone add.
    """

    kind: Kind
    layer: int | None = None
    head: int | None = None
    at: str = ""

    @property
    def site(self) -> str:
        """Where its vector is found: a site of the registry, with the head's number; or the name of a weight."""
        block = "" if self.layer is None else f"blocks.{self.layer}."
        match self.kind:
            case "token" | "patch" | "segment" | "position":
                return f"embed.{self.kind}"
            case "head":
                return f"{block}{self.at}.head_out[{self.head}]"
            case "bias":
                return f"{block}{self.at}.o.bias"
            case "ffn":
                return f"{block}ffn.out"
            case "shift":
                return f"{block}{self.at}_norm.bias" if block or self.at != "head" else "head.norm.bias"
            case "projection" | "distance":
                return f"{block}{self.at}.bias"
            case "dense":
                return "head.dense.bias"
            case "prior":
                return "unembedding.bias"


Where = int | slice
"""One position, or several in a row: [..] below is nothing, or T of them."""


class Scaled(NamedTuple):
    """x -> factor ⊙ (x − mean), or factor ⊙ x where not ``centred``; ``factor`` is [.., D].

    ``shift`` is what is added to every vector: a part of its own.
    """

    factor: Tensor
    centred: bool
    shift: Tensor | None = None

    def at(self, where: slice) -> Scaled:
        """The same at some of the positions."""
        return self if self.factor.dim() < 2 else self._replace(factor=self.factor[where])

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * (x - x.mean(-1, keepdim=True) if self.centred else x)

    def back(self, direction: Tensor) -> Tensor:
        """The transposed map: ⟨direction, forward(x)⟩ = ⟨back(direction), x⟩."""
        scaled = self.factor * direction
        return scaled - scaled.mean(-1, keepdim=True) if self.centred else scaled


class Mixed(NamedTuple):
    """x -> W x; ``weight`` is [D, D]."""

    weight: Tensor

    def at(self, where: slice) -> Mixed:
        """The same: it is no matter of position."""
        return self

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.T

    def back(self, direction: Tensor) -> Tensor:
        return direction @ self.weight


class Read(NamedTuple):
    """Where a sub-layer reads the stream: after so many parts were written, and so many maps passed."""

    n_parts: int
    n_maps: int


class Decomposition(NamedTuple):
    """Everything that was written at one position or several, and the linear maps on the way to the end, float64.

    Attributes:
        position: counted from 0.
        written: [P, .., D], a vector for each of ``parts``.
        passed: for each part, how many of ``maps`` lie behind it: it still goes through the others.
        maps: in order, those of the norms and of a masked head.
        reads: where each sub-layer ("attn", "cross", "ffn") of a block reads, by layer and name.
    """

    position: Where
    parts: tuple[Part, ...]
    written: Tensor
    passed: tuple[int, ...]
    maps: tuple[Scaled | Mixed, ...]
    reads: Mapping[tuple[int, str], Read]

    @property
    def at_one(self) -> int:
        """The position, where it is one."""
        assert isinstance(self.position, int)
        return self.position

    def row(self, part: Part) -> int:
        """The row of a part.

        Raises:
            ValueError: there is no such part.
        """
        return self.parts.index(part)

    def carry(self, vectors: Tensor, passed: int, until: int | None = None) -> Tensor:
        """Vectors [.., D] with ``passed`` maps behind them -> what is left of them behind ``until`` maps, or all."""
        vectors = vectors.double()
        for step in self.maps[passed:until]:
            vectors = step.forward(vectors)
        return vectors

    def directions(self, direction: Tensor) -> Tensor:
        """A direction [.., D] at the end -> as seen from before each map: [maps + 1, .., D], the last as given."""
        seen = [direction.double()]
        for step in reversed(self.maps):
            seen.append(step.back(seen[-1]))
        return torch.stack(seen[::-1])


class _Walk:
    """Notes what is written and what it passes, in order."""

    def __init__(self, trace: Trace, position: Where) -> None:
        self.trace, self.position = trace, position
        self.parts: list[Part] = []
        self.written: list[Tensor] = []
        self.passed: list[int] = []
        self.maps: list[Scaled | Mixed] = []
        self.reads: dict[tuple[int, str], Read] = {}

    def add(self, part: Part, vector: Tensor) -> None:
        self.parts.append(part)
        self.written.append(vector.double().expand_as(self.written[0]) if self.written else vector.double())
        self.passed.append(len(self.maps))

    def write(self, part: Part, site: str) -> None:
        self.add(part, rows(self.trace, site, self.position))

    def read(self, layer: int, at: str) -> None:
        """From here a sub-layer reads, unless it read before."""
        self.reads.setdefault((layer, at), Read(len(self.parts), len(self.maps)))

    def replace(self) -> None:
        """Where nothing is added, what a sub-layer writes takes the place of all that was written before."""
        if not self.trace.config.residual:
            self.maps.append(Scaled(torch.zeros_like(self.written[0]), centred=False))

    def through(self, norm: Norm | None, site: str, shift: Part) -> None:
        if norm is not None:
            held = held_at(self.trace, norm, site, self.position)
            self.maps.append(held)
            self.shifted(held, shift)

    def shifted(self, norm: Scaled, part: Part) -> None:
        if norm.shift is not None:
            self.add(part, norm.shift)


def rows(trace: Trace, site: str, position: Where) -> Tensor:
    """A value without heads at one position or several: [.., D]."""
    return trace.row(site, position) if isinstance(position, int) else trace[site][position]


def held_at(trace: Trace, norm: Norm, site: str, position: Where) -> Scaled:
    """A norm with what it measured at one position or several held; ``site`` is like ``blocks.0.attn.norm``."""
    if isinstance(position, int):
        return Scaled(*norm.held(trace.norm_input(site, position).double()))
    return Scaled(*norm.held(trace.norm_input(site)[position].double()))


def in_front(trace: Trace, position: Where, layer: int, at: str) -> Scaled:
    """The norm through which a sub-layer ("attn", "cross", "ffn") reads the stream; where none stands, nothing."""
    if trace.norm_at not in ("pre", "both"):
        return Scaled(torch.ones(()), False)
    norm = trace.stack.block(layer).get_submodule(f"{at}_norm")
    assert isinstance(norm, Norm)
    return held_at(trace, norm, f"blocks.{layer}.{at}.norm", position)


def behind(trace: Trace, position: Where, layer: int, part: str) -> Scaled:
    """The norm between a sub-layer ("attn", "cross", "ffn") and its addition, as it was; where none stands, nothing."""
    written = sites.written(trace.config, trace.stack.side, part)
    if written == f"{part}.out":
        return Scaled(torch.ones(()), False)
    name = written.removesuffix(".out")
    norm = trace.stack.block(layer).get_submodule(name.replace(".", "_"))
    assert isinstance(norm, Norm)
    return held_at(trace, norm, f"blocks.{layer}.{name}", position)


@torch.inference_mode()
def decompose(trace: Trace, position: Where) -> Decomposition:
    """What was written at ``position`` of the stack that ``trace`` is seen from, to that stack's end.

    Where the stack ends in logits the end is what the unembedding reads; else it is the last vector.

    Raises:
        IndexError: no such position.
    """
    if isinstance(position, int):
        if not -len(trace) <= position < len(trace):
            raise IndexError(f"position {position}: the trace has {len(trace)}")
        position %= len(trace)
    walk, stack, known = _Walk(trace, position), trace.stack, frozenset(trace.sites)
    post = trace.norm_at == "post"
    kinds: tuple[Kind, ...] = ("token", "patch", "segment", "position")
    for kind in kinds:
        if f"embed.{kind}" in known:
            walk.write(Part(kind), f"embed.{kind}")
    walk.through(stack.embed_norm, "embed.norm", Part("shift", at="embed"))
    for layer in range(trace.n_layers):
        block = stack.block(layer)
        if trace.config.parallel:
            walk.read(layer, "ffn")
        attentions = {"attn": (block.attn, block.attn_norm)}
        if block.cross is not None:
            attentions["cross"] = (block.cross, block.cross_norm)
        for at, (attention, norm) in attentions.items():
            walk.read(layer, at)
            walk.replace()
            norm_behind = behind(trace, position, layer, at)
            for head, vector in enumerate(_heads(trace, f"blocks.{layer}.{at}.z", attention, position)):
                walk.add(Part("head", layer, head, at), norm_behind.forward(vector))
            if attention.o.bias is not None:
                walk.add(Part("bias", layer, None, at), norm_behind.forward(attention.o.bias.detach()))
            walk.shifted(norm_behind, Part("shift", layer, None, at))
            walk.through(norm if post else None, f"blocks.{layer}.{at}.norm", Part("shift", layer, None, at))
        walk.read(layer, "ffn")
        walk.replace()
        norm_behind = behind(trace, position, layer, "ffn")
        walk.add(Part("ffn", layer), norm_behind.forward(rows(trace, f"blocks.{layer}.ffn.out", position)))
        walk.shifted(norm_behind, Part("shift", layer, None, "ffn"))
        walk.through(block.ffn_norm if post else None, f"blocks.{layer}.ffn.norm", Part("shift", layer, None, "ffn"))
    walk.through(stack.final_norm, "final.norm", Part("shift", at="final"))
    if predicts(trace):
        _through_head(walk)
    return Decomposition(
        position, tuple(walk.parts), torch.stack(walk.written), tuple(walk.passed), tuple(walk.maps), walk.reads
    )


def _heads(trace: Trace, site: str, attention: Attention, position: Where) -> Tensor:
    """What each head writes: [H, .., D]."""
    if isinstance(position, int):
        return ops.head_out(trace.row(site, position)[:, None], attention.o.weight.detach().T)[:, 0]
    return ops.head_out(trace[site][:, position], attention.o.weight.detach().T)


def _through_head(walk: _Walk) -> None:
    """What stands between the last vector and the unembedding: a masked head's layer, or T5's factor."""
    head = walk.trace.model.head
    if isinstance(head, MaskedHead):
        weight, before = head.dense.weight.detach().double(), head.dense(walk.trace[walk.trace.leaving][walk.position])
        before = before.detach().double()
        walk.maps.append(Mixed(weight))
        if head.dense.bias is not None:
            walk.add(Part("dense"), head.dense.bias.detach().double())
        # Every activation here is x times a factor between 0 and 1 that depends on x: Φ(x), σ(x), or x > 0.
        walk.maps.append(Scaled(slopes(head.activation, before), centred=False))
        walk.through(head.norm, "head.norm", Part("shift", at="head"))
    elif not head.is_direct:  # number by number what it multiplies with, as of a norm
        last = walk.trace[walk.trace.leaving][walk.position]
        before = head.before(last)
        walk.maps.append(Scaled(torch.where(last == 0, torch.zeros_like(last), before / last).double(), centred=False))
    elif head.scale != 1:
        walk.maps.append(Scaled(torch.full_like(walk.written[0], head.scale), centred=False))


class Attribution(NamedTuple):
    """``total``, what the run recorded, as the sum of ``values`` [P], one for each of ``parts``.

    ``directions`` [maps + 1, D] are what a vector is multiplied with at each stage of its way; P includes the bias of
    the unembedding, where there is one.
    """

    parts: tuple[Part, ...]
    values: np.ndarray
    total: float
    directions: Tensor

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
            "embedding": ("token", "patch", "segment", "position"),
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
    return _along(decomposition, less(unembedding.weight.detach(), token, against), total.item(), bias)


def less(values: Tensor, token: int, against: Against) -> Tensor:
    """What stands for a token of the vocabulary, less what it is compared with: of [V, …] float64."""
    own = values[token].double()
    if against is None:
        return own
    return own - (values.mean(0) if against == "average" else values[against]).double()


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
    values = (decomposition.written * seen[list(decomposition.passed)]).sum(-1).numpy()
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
    logits = decomposition.carry(vectors, passed).float() @ trace.model.unembedding.weight.detach().T
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
