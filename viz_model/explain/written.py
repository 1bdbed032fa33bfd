"""What was written to a residual stream, part by part, and the linear maps that it passed on its way.

Each embedding, head, feed-forward layer and bias adds a vector to the stream. What follows on a vector's way is a norm
(the final one; under Post-LN one after every addition), and of a masked model the head's own layer. None of these is
linear. But at the point that was measured each is a linear map: the norm subtracts the mean, where it takes one, and
multiplies by γ/σ, with the σ that this run measured; x·Φ(x) multiplies by the Φ(x) that it measured. With these
factors held, the parts add up to what is read, to the last digit. Of a run in which an intervention changed the stream
itself, the sum lacks what that added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from viz_model.measures.lens import predicts
from viz_model.model import ops, sites
from viz_model.model.activations import slopes
from viz_model.model.attention import Attention
from viz_model.model.heads import MaskedHead
from viz_model.model.norms import Norm
from viz_model.runs.trace import Trace, counted

Kind = Literal[
    "token",
    "patch",
    "segment",
    "position",
    "input",
    "head",
    "bias",
    "ffn",
    "shift",
    "dense",
    "prior",
    "projection",
    "distance",
]


class Part(NamedTuple):
    """One thing that writes. ``at`` tells attentions and norms apart: "attn", "cross", "ffn", "embed", "final", "head".

    ``kind`` is "input" for what a block adds of a second embedding, "bias" of W_O, "shift" of a norm (its β), "dense"
    for the bias of a masked head's own layer, or of the matrix behind a narrower embedding, and "prior" for the bias of
    the unembedding, which is not a vector but a number for each token. In a score "projection" is the bias of W_Q or
    W_K (``at`` is like "attn.q"), and "distance" what the places alone add.
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
            case "ffn" | "input":
                return f"{block}{self.kind}.out"
            case "shift":
                return f"{block}{self.at}_norm.bias" if block or self.at != "head" else "head.norm.bias"
            case "projection" | "distance":
                return f"{block}{self.at}.bias"
            case "dense":
                return "project.bias" if self.at == "embed" else "head.dense.bias"
            case "prior":
                return "unembedding.bias"


Where = int | slice
"""One position, or several in a row: [..] below is nothing, or T of them."""


class Scaled(NamedTuple):
    """x -> factor ⊙ (x − mean), or factor ⊙ x where not ``centered``; ``factor`` is [.., D].

    ``shift`` is what is added to every vector: a part of its own.
    """

    factor: Tensor
    centered: bool
    shift: Tensor | None = None

    def at(self, where: slice) -> Scaled:
        """The same at some of the positions."""
        return self if self.factor.dim() < 2 else self._replace(factor=self.factor[where])

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * (x - x.mean(-1, keepdim=True) if self.centered else x)

    def back(self, direction: Tensor) -> Tensor:
        """The transposed map: ⟨direction, forward(x)⟩ = ⟨back(direction), x⟩."""
        scaled = self.factor * direction
        return scaled - scaled.mean(-1, keepdim=True) if self.centered else scaled


class Mixed(NamedTuple):
    """x -> W x; ``weight`` is [D, D], or [E, D] where a masked head comes back to narrower rows."""

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
        written: a vector [.., D] for each of ``parts``; of what a masked head adds behind a layer of its own, as wide
            as that leaves it.
        passed: for each part, how many of ``maps`` lie behind it: it still goes through the others.
        maps: in order, those of the norms and of a masked head.
        reads: where each sub-layer ("attn", "cross", "ffn") of a block reads, by layer and name; ``"end"`` of a layer
            that is not there is what the final norm reads.
    """

    position: Where
    parts: tuple[Part, ...]
    written: tuple[Tensor, ...]
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

    def carry(self, vectors: Tensor, passed: int, until: int | None = None, where: slice | None = None) -> Tensor:
        """Vectors [.., D] with ``passed`` maps behind them -> what is left of them behind ``until`` maps, or all.

        ``where`` says of which of several positions they are; by default of all.
        """
        vectors = vectors.double()
        for step in self.maps[passed:until]:
            vectors = (step if where is None else step.at(where)).forward(vectors)
        return vectors

    def at_read(self, read: Read) -> Tensor:
        """What stands in the stream where a sub-layer reads it: [.., D]."""
        rows = range(read.n_parts)
        return torch.stack([self.carry(self.written[n], self.passed[n], read.n_maps) for n in rows]).sum(0)

    def directions(self, direction: Tensor) -> tuple[Tensor, ...]:
        """A direction [.., D] at the end -> as seen from before each map, maps + 1 of them, the last as given."""
        seen = [direction.double()]
        for step in reversed(self.maps):
            seen.append(step.back(seen[-1]))
        return tuple(seen[::-1])


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
        where = self.written[0].shape[:-1] if self.written else vector.shape[:-1]
        self.written.append(vector.double().expand(*where, -1))
        self.passed.append(len(self.maps))

    def write(self, part: Part, site: str) -> None:
        self.add(part, rows(self.trace, site, self.position))

    def read(self, layer: int, at: str) -> None:
        """From here a sub-layer reads, unless it read before."""
        self.reads.setdefault((layer, at), Read(len(self.parts), len(self.maps)))

    def replace(self) -> None:
        """Where nothing is added, what a sub-layer writes takes the place of all that was written before."""
        if not self.trace.config.residual:
            self.maps.append(Scaled(torch.zeros_like(self.written[0]), centered=False))

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
def refuse(trace: Trace) -> None:
    """Raises ValueError where what a layer carries to a token is not a sum over the model's heads."""
    if not trace.config.sums_heads:
        raise ValueError("this model has gates behind attention or latent vectors: it is not taken apart here")


def decompose(trace: Trace, position: Where) -> Decomposition:
    """What was written at ``position`` of the stack that ``trace`` is seen from, to that stack's end.

    Where the stack ends in logits the end is what the unembedding reads; else it is the last vector.

    Raises:
        IndexError: no such position.
        ValueError: attention has a gate or latent vectors, or states have other heads than the model.
    """
    refuse(trace)
    if isinstance(position, int):
        position = counted("position", position, len(trace))
    walk, stack, known = _Walk(trace, position), trace.stack, frozenset(trace.sites)
    post = trace.norm_at == "post"
    kinds: tuple[Kind, ...] = ("token", "patch", "segment", "position")
    embedded = [kind for kind in kinds if f"embed.{kind}" in known]
    if stack.project is None:
        for kind in embedded:
            walk.write(Part(kind), f"embed.{kind}")
        walk.through(stack.embed_norm, "embed.norm", Part("shift", at="embed"))
    else:
        _projected(walk, stack.project, stack.embed_norm, embedded)
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
        others: tuple[Kind, ...] = ("ffn", "input")
        for kind in others:
            if f"blocks.{layer}.{kind}.out" in known:
                walk.replace()
                norm_behind, shift = behind(trace, position, layer, kind), Part("shift", layer, None, kind)
                walk.add(Part(kind, layer), norm_behind.forward(rows(trace, f"blocks.{layer}.{kind}.out", position)))
                walk.shifted(norm_behind, shift)
                on_stream = block.ffn_norm if post and kind == "ffn" else None
                walk.through(on_stream, f"blocks.{layer}.ffn.norm", shift)
        if trace.config.block_scale:
            scale = block.get_parameter("scale").detach().double()
            walk.maps.append(Scaled(scale.expand_as(walk.written[0]), centered=False))
    walk.read(trace.n_layers, "end")
    walk.through(stack.final_norm, "final.norm", Part("shift", at="final"))
    if predicts(trace):
        _through_head(walk)
    return Decomposition(
        position, tuple(walk.parts), tuple(walk.written), tuple(walk.passed), tuple(walk.maps), walk.reads
    )


def _projected(walk: _Walk, project: nn.Linear, norm: Norm | None, embedded: Sequence[Kind]) -> None:
    """What was embedded in narrower rows, each part as the norm and the matrix behind it bring it to the stream."""
    weight, bias = (one.detach().double() for one in (project.weight, project.bias))
    held = Scaled(torch.ones(()), False)
    if norm is not None:
        held = held_at(walk.trace, norm, "embed.norm", walk.position)
    for kind in embedded:
        row = rows(walk.trace, f"embed.{kind}", walk.position).double()
        walk.add(Part(kind), held.forward(row) @ weight.T)
    if held.shift is not None:
        walk.add(Part("shift", at="embed"), held.shift.double() @ weight.T)
    walk.add(Part("dense", at="embed"), bias)


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
        # Every activation here is x times a factor that depends on x: Φ(x), σ(x), max(0, x), or x > 0.
        walk.maps.append(Scaled(slopes(head.activation, before), centered=False))
        walk.through(head.norm, "head.norm", Part("shift", at="head"))
    elif not head.is_direct:  # number by number what it multiplies with, as of a norm
        last = walk.trace[walk.trace.leaving][walk.position]
        before = head.before(last)
        walk.maps.append(Scaled(torch.where(last == 0, torch.zeros_like(last), before / last).double(), centered=False))
    elif head.scale != 1:
        walk.maps.append(Scaled(torch.full_like(walk.written[0], head.scale), centered=False))
