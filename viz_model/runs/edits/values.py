"""Edits of one value: a head, a pattern, a neuron, a sub-layer, a vector of the residual stream."""

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from viz_model.config import ModelConfig, ShortConv, Side
from viz_model.model import sites
from viz_model.runs.edits.base import Edit, Run, ValueEdit, check_number, check_part, place, stack_of

Attention: TypeAlias = Literal["attn", "cross"]


def _head_site(config: ModelConfig, side: Side | None, layer: int, head: int, attention: Attention, value: str) -> str:
    """The full name of a value with heads, once stack, layer and head are known to exist."""
    stack = stack_of(config, side)
    check_number("layer", layer, config.depth(stack))
    check_number("head", head, config.n_heads)
    check_part(config, stack, attention, "attention")
    if attention == "attn" and isinstance(config.layer(stack, layer).mixer, ShortConv):
        raise ValueError(f"layer: layer {layer} convolves, and has no heads")
    return place(config, stack, layer, f"{attention}.{value}")


@dataclass(frozen=True, kw_only=True)
class AblateHead(ValueEdit):
    """Switch a head off: what it mixes is replaced before W_O.

    Attributes:
        side: the stack, in an encoder–decoder.
        attention: a decoder's attention to itself, or to its encoder.
        to: ``zero``, so that it writes nothing (Michel et al. 2019, section 2.2); or ``mean``, its own mean
            over the positions of this run, so that it writes the same everywhere and tells nothing of
            where it looked. Wang et al. 2022 (section 2.2) take the mean over many texts instead.
    """

    tag: ClassVar[str] = "head-off"
    layer: int
    head: int
    side: Side | None = None
    attention: Attention = "attn"
    to: Literal["zero", "mean"] = "zero"

    @property
    def reads_whole_text(self) -> bool:
        return self.to == "mean"

    def site(self, config: ModelConfig) -> str:
        return _head_site(config, self.side, self.layer, self.head, self.attention, "z")

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        mixed = value[..., self.head, :, :]  # [B, T, K]
        value = value.clone()
        value[..., self.head, :, :] = 0 if self.to == "zero" else mixed.mean(-2, keepdim=True)
        return value


Rows: TypeAlias = tuple[tuple[float, ...], ...]
SUM_TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True)
class FixPattern(ValueEdit):
    """Fix where a head looks, whatever its queries and keys say; what it mixes follows from that.

    Attributes:
        side, attention: as in :class:`AblateHead`.
        pattern: ``uniform`` (all keys that the mask shows, equally), ``self``, ``previous`` (position 0
            looks at itself), ``first``, or the rows themselves, [Tq][Tk]. Rows may give weight to keys
            that the mask hides; the named patterns never do.

    Raises:
        ValueError: a row holds a number below 0, or does not sum to 1 (within 1e-4).
    """

    tag: ClassVar[str] = "pattern"
    layer: int
    head: int
    pattern: Literal["uniform", "self", "previous", "first"] | Rows
    side: Side | None = None
    attention: Attention = "attn"

    def __post_init__(self) -> None:
        for n, row in enumerate(self.pattern if isinstance(self.pattern, tuple) else ()):
            numbers = row if isinstance(row, tuple) else ()
            if wrong := [x for x in numbers if isinstance(x, int | float) and not 0 <= x <= 2]:
                raise ValueError(f"pattern: row {n} holds {wrong[0]:g}, and a share of attention lies from 0 to 1")
        super().__post_init__()
        for n, row in enumerate(() if isinstance(self.pattern, str) else self.pattern):
            if abs((total := math.fsum(row)) - 1) > SUM_TOLERANCE:
                raise ValueError(f"pattern: row {n} sums to {total:.6g}, not to 1")

    @property
    def names_positions(self) -> bool:
        return not isinstance(self.pattern, str)

    def site(self, config: ModelConfig) -> str:
        if self.attention == "cross" and self.pattern in ("self", "previous"):
            raise ValueError(f"pattern: {self.pattern} has no meaning where queries and keys are different texts")
        return _head_site(config, self.side, self.layer, self.head, self.attention, "pattern")

    def prepare(self, run: Run) -> Run:
        if not isinstance(self.pattern, str):
            side = stack_of(run.config, self.side)
            keys = "encoder" if self.attention == "cross" and "encoder" in run.ids else side
            expected = (len(run.ids[side]), len(run.ids[keys]))
            if [len(row) for row in self.pattern] != [expected[1]] * expected[0]:
                found = f"{len(self.pattern)} of {', '.join(sorted({str(len(row)) for row in self.pattern}))}"
                raise ValueError(f"pattern: expected {expected[0]} rows of {expected[1]} numbers, got {found}")
        return super().prepare(run)

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        visible = ~seen[f"{name.removesuffix('pattern')}masked"][..., self.head, :, :].isinf()  # [B, Tq, Tk]
        value = value.clone()
        value[..., self.head, :, :] = self._rows(visible).to(value)
        return value

    def _rows(self, visible: Tensor) -> Tensor:
        if not isinstance(self.pattern, str):
            return torch.tensor(self.pattern, device=visible.device)
        if self.pattern == "uniform":
            return visible / visible.sum(-1, keepdim=True)
        n_queries, n_keys = visible.shape[-2:]
        query = torch.arange(n_keys - n_queries, n_keys, device=visible.device)  # with a cache, the last positions
        match self.pattern:
            case "self":
                key = query
            case "previous":
                key = (query - 1).clamp(min=0)
            case "first":
                key = torch.zeros_like(query)
        rows = torch.nn.functional.one_hot(key, n_keys).bool()
        if hidden := (rows & ~visible).any(-1).flatten().nonzero().flatten().tolist():
            at = hidden[0] % n_queries
            raise ValueError(f"pattern: row {int(query[at])} would look at token {int(key[at])}, which its mask hides")
        return rows


LARGEST_ACTIVATION = 1e6


@dataclass(frozen=True, kw_only=True)
class SetNeuron(ValueEdit):
    """Hold a hidden neuron of a feed-forward layer at a value, at one position or at all.

    It is the activation that is set, after the gate where there is one: what W₂ (W_down) reads.

    Raises:
        ValueError: the value is no number, or beyond ±10⁶, where single precision soon overflows.
    """

    tag: ClassVar[str] = "neuron"
    layer: int
    neuron: int
    value: float
    position: int | None = None
    side: Side | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not abs(self.value) <= LARGEST_ACTIVATION:
            raise ValueError(f"value: expected at most {LARGEST_ACTIVATION:g} either way, got {self.value:g}")

    @property
    def names_positions(self) -> bool:
        return self.position is not None

    def site(self, config: ModelConfig) -> str:
        side = stack_of(config, self.side)
        check_number("layer", self.layer, config.depth(side))
        n_neurons = sites.n_neurons(config, side, self.layer)
        if not n_neurons:
            raise ValueError(f"layer: the feed-forward of layer {self.layer} has no hidden neurons")
        check_number("neuron", self.neuron, n_neurons)
        return place(config, side, self.layer, "ffn.act")

    def prepare(self, run: Run) -> Run:
        planned = super().prepare(run)
        if self.position is not None:
            check_number("position", self.position, len(run.ids[stack_of(run.config, self.side)]))
        return planned

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        value[..., slice(None) if self.position is None else self.position, self.neuron] = self.value
        return value


@dataclass(frozen=True, kw_only=True)
class Skip(ValueEdit):
    """A sub-layer that adds nothing: what it writes is zero, its bias with it.

    Under Pre-LN the stream passes it unchanged; under Post-LN it is still normalized behind it.
    """

    tag: ClassVar[str] = "skip"
    layer: int
    part: Literal["attn", "cross", "ffn"]
    side: Side | None = None

    def site(self, config: ModelConfig) -> str:
        side = stack_of(config, self.side)
        check_number("layer", self.layer, config.depth(side))
        check_part(config, side, self.part, "part")
        return place(config, side, self.layer, f"{self.part}.out")

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        return torch.zeros_like(value)


@dataclass(frozen=True, kw_only=True)
class PatchResidual(Edit):
    """Put in a vector of the residual stream from another run: activation patching.

    Vig et al. 2020 (section 3) and Meng et al. 2022 (section 2.1). The other run is made by
    :meth:`viz_model.LanguageModel.trace`, without any edit and with the model's own masks; patching
    from the same text changes nothing.

    Attributes:
        site: the full name of a vector of the stream, like ``embed.out``, ``blocks.1.resid.out`` or
            ``decoder.blocks.0.resid.mid``. What is computed from it afterwards follows.
        position: where the vector is put.
        from_text, from_ids: what the other run reads; one of the two.
        from_position: where the vector stands there; by default at ``position``.
        from_target: what its decoder has said, of an encoder–decoder; by default what this run's has.
    """

    tag: ClassVar[str] = "patch"
    site: Annotated[str, "site"]
    position: int
    from_position: int | None = None
    from_text: str | None = None
    from_target: str | None = None
    from_ids: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.from_text is None) == (self.from_ids is None):
            raise ValueError("from_text: give either a text or from_ids=(…,)")

    @property
    def names_positions(self) -> bool:
        return True

    @property
    def source(self) -> tuple[str | None, tuple[int, ...] | None, str | None]:
        """What tells the other runs apart."""
        return self.from_text, self.from_ids, self.from_target

    @property
    def read_at(self) -> int:
        return self.position if self.from_position is None else self.from_position

    def check(self, config: ModelConfig) -> Side:
        """The stack whose stream is patched.

        Raises:
            ValueError: this model has no such vector.
        """
        streams = [name for name, row in sites.in_order(config) if row.role == "residual" and row.axes == ("T", "D")]
        if self.site not in streams:
            near = difflib.get_close_matches(self.site, streams, n=3, cutoff=0.5) or streams[-1:]
            raise ValueError(f"site: no vector of the stream is called {self.site[:80]!r}; try {', '.join(near)}")
        return sites.split_side(self.site)[0] or config.sides[0]

    def prepare(self, run: Run) -> Run:
        check_number("position", self.position, len(run.ids[self.check(run.config)]))
        if self not in run.vectors:
            raise ValueError("from_text: the other run is made by LanguageModel.trace; run this edit through it")
        return _Put(name=self.site, position=self.position, vector=run.vectors[self]).prepare(run)


@dataclass(frozen=True, kw_only=True, eq=False)
class Change(ValueEdit):
    """Make any value that a run passes on into another: set it, scale it, add to it.

    >>> Change(at="blocks.1.attn.out", by=lambda out: 0.5 * out)

    No address can say such an edit; it is made in Python alone.

    Attributes:
        at: the full name of a recorded value, or of an attention pattern; of other derived ones there is nothing in the
            run to change.
        by: from a copy of the value, as ``trace[at]`` has it, to one of the same shape, or to a number for all of it.
    """

    tag: ClassVar[str] = "change"
    at: str
    by: Callable[[Tensor], Tensor | float]

    def __post_init__(self) -> None:
        if not callable(self.by):
            raise ValueError(f"by: expected a function, got {type(self.by).__name__}")

    @property
    def reads_whole_text(self) -> bool:
        return True

    def site(self, config: ModelConfig) -> str:
        recorded = sites.recorded(config) | {name for name in sites.table(config) if name.endswith(".pattern")}
        if self.at not in recorded:
            near = difflib.get_close_matches(self.at, recorded, n=3, cutoff=0.5) or ["blocks.0.resid.in"]
            if self.at in sites.table(config):
                raise ValueError(f"at: {self.at} is worked out of other values and not passed on; change one of those")
            raise ValueError(f"at: no recorded value is called {self.at[:80]!r}; try {', '.join(near)}")
        return self.at

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        made = []
        for one in value:
            if (new := self.by(one.clone())) is None:
                raise ValueError(f"by: the function returns nothing in place of {name}")
            found = torch.as_tensor(new, dtype=value.dtype)
            if found.dim() and found.shape != one.shape:
                raise ValueError(
                    f"by: {name} is {list(one.shape)}, and what the function makes of it {list(found.shape)}"
                )
            made.append(found.expand_as(one))
        return torch.stack(made)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Put(ValueEdit):
    """A patch with the vector [D] that it puts in."""

    name: str
    position: int
    vector: Tensor

    def site(self, config: ModelConfig) -> str:
        return self.name

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        value[..., self.position, :] = self.vector
        return value
