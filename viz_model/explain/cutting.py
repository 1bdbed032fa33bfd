"""A route cut: what an edge carries with the run's choices held, and what the model does when it is really taken away.

An edge leads from what one part wrote at a position to one part that reads it there. To cut it is to take what was
written out of the stream that this one reader sees, at this one position; every other reader still finds it (path
patching: Wang et al. 2022, section 3.1; Goldowsky-Dill et al. 2023). The reader is run again on what is left: its norm
measures anew, a head forms its query, key and value anew, and of its queries the one that the edge leads to. The model
goes on from what the reader then writes, and everything behind it reacts.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from viz_model.config import ModelConfig
from viz_model.explain import sums
from viz_model.explain.frozen import Frozen, Node, Pullback
from viz_model.explain.routes import Routes
from viz_model.explain.written import Read
from viz_model.model.attention import Given, Source
from viz_model.model.heads import ClassHead
from viz_model.model.positions import NOWHERE
from viz_model.runs.edits import ValueEdit
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace


class Cut(NamedTuple):
    """An edge and what it is worth.

    Attributes:
        writer, reader: its ends; None is what makes the answer of the last vector.
        predicted: the change of the answer without it, patterns, divisors and gates held.
        measured: the change when the model runs again without it.
    """

    writer: Node
    reader: Node | None
    predicted: float
    measured: float


def cut(found: Routes, writer: Node, reader: Node | None = None) -> Cut:
    """Cut one edge of some routes; ``reader`` None is the unembedding.

    Raises:
        ValueError: the reader does not read what is written there, or is asked of a single neuron.
    """
    frozen = found.frozen
    if writer.neuron is not None or (reader is not None and reader.neuron is not None):
        raise ValueError("neuron: edges between whole layers and heads can be cut")
    with torch.inference_mode():
        pullback = frozen.pullback_of(reader)
        row, place = _place(frozen, pullback, writer)
        predicted = -float(frozen.writers(pullback)[row, place])
        return Cut(writer, reader, predicted, _measured(found, pullback, row, writer, reader))


def _place(frozen: Frozen, pullback: Pullback, writer: Node) -> tuple[int, int]:
    """The row of a writer among the parts that a pullback reads, and its place among the positions."""
    stream = frozen.stream(pullback.side)
    known = stream.parts[: pullback.read.n_parts if pullback.read else None]
    place = -1 if writer.position is None else writer.position - pullback.start
    if writer.side != pullback.side or writer.part not in known or not 0 <= place < len(pullback.directions):
        raise ValueError(f"writer: {writer.part.site} at {writer.position} is not read there")
    return known.index(writer.part), place


def _measured(found: Routes, pullback: Pullback, row: int, writer: Node, reader: Node | None) -> float:
    frozen, stream = found.frozen, found.frozen.stream(pullback.side)
    trace = frozen.at(pullback.side if reader is None else reader.side)
    read = pullback.read or stream.reads[frozen.at(pullback.side).n_layers, "end"]
    if reader is not None and pullback.read is None:  # a decoder reads what leaves its encoder
        read = Read(len(stream.parts), len(stream.maps))
    assert writer.position is not None
    where = slice(writer.position, writer.position + 1)
    left = stream.at_read(read)
    left[where] -= stream.carry(stream.written[row][where], stream.passed[row], read.n_maps, where)
    if reader is None:
        norm = trace.stack.final_norm
        return _answer(found, left.float() if norm is None else norm(left.float())) - found.total
    put = _written_again(frozen, trace, reader, left.float()[None])
    changes = {**trace.changes, put.name: (*trace.changes.get(put.name, ()), put)}
    segments = None if trace.segments is None else torch.tensor([trace.segments])
    leaving = trace.model.vectors(
        torch.tensor([trace.ids]),
        None if trace.target_ids is None else torch.tensor([trace.target_ids]),
        pixels=None if trace.picture is None else trace.picture[None],
        segments=segments,
        visible=trace.visible,
        tap=recorder(trace.config, changes),
    )
    return _answer(found, leaving[0]) - found.total


def _answer(found: Routes, leaving: Tensor) -> float:
    """What was asked, of the vectors [T, D] that leave the model."""
    head = found.frozen.trace.model.head
    if isinstance(head, ClassHead):
        return float(sums.less(head(leaving[None])[0].double(), found.token, found.against))
    return float(sums.less(head.uncapped(leaving)[found.position].double(), found.token, found.against))


def _written_again(frozen: Frozen, trace: Trace, reader: Node, left: Tensor) -> "_Put":
    """What the reader writes when it reads ``left`` [1, T, D], as a change of the value that it writes."""
    layer, position, side = reader.part.layer, reader.position, trace.stack.side
    assert layer is not None and position is not None
    block, at = trace.stack.block(layer), f"{trace.prefix}blocks.{layer}"
    normed = trace.norm_at in ("pre", "both")
    bias = trace.stack.attn_bias(layer, 0, left, trace.visible.get(side))
    given = Given(trace.stack.position_of(layer), bias)
    kept = recorder(trace.config, trace.changes)
    if reader.part.kind == "ffn":
        made = block.feed_forward(block.ffn_norm(left) if normed else left, given, kept.at(at))
        return _Put(f"{at}.ffn.out", None, position, made[0, position])
    if reader.part.at == "cross":
        stream = frozen.stream(side)
        own = stream.at_read(stream.reads[layer, "cross"]).float()[None]
        block.attend_source(block.cross_norm(own) if normed else own, Given(NOWHERE, source=Source(left)), kept.at(at))
    else:
        block.attend(block.attn_norm(left) if normed else left, given, kept.at(at))
    name = f"{at}.{reader.part.at}.z"
    return _Put(name, reader.part.head, position, kept.values[name][0, reader.part.head, position])


class _Put(ValueEdit):
    """Another row in the place of what a part wrote at one position: ``head`` is that of mixed values."""

    def __init__(self, name: str, head: int | None, position: int, row: Tensor) -> None:
        self.name, self.head, self.position, self.row = name, head, position, row

    def site(self, config: ModelConfig) -> str:
        return self.name

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        (value if self.head is None else value[:, self.head])[:, self.position] = self.row
        return value
