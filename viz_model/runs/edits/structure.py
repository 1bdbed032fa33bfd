"""Parts that a learner takes out to see what they are for: the same weights in a model of another config.

Because the config says what was run, names, formulas and derived values of the trace are those of
the model without the part, not of the whole one.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from viz_model import config
from viz_model.config import ModelConfig, Side
from viz_model.model import attention, block, norms, positions, stored
from viz_model.model.attention import Attention
from viz_model.model.feedforward import FeedForward
from viz_model.model.transformer import Stack, Transformer
from viz_model.runs.edits.base import Edit, Run, ValueEdit, check_number, place, stack_of


@dataclass(frozen=True, kw_only=True)
class StructureEdit(Edit):
    """A field of the config with another choice. Of a model that has the choice already it changes nothing."""

    changes: ClassVar[dict[str, Any]]

    def prepare(self, run: Run) -> Run:
        return dataclasses.replace(run, config=dataclasses.replace(run.config, **self.changes))


@dataclass(frozen=True, kw_only=True)
class NoScale(StructureEdit):
    """Scores q·k without the division by √K (Vaswani et al. 2017, section 3.2.1, on why there is one)."""

    tag: ClassVar[str] = "no-scale"
    changes: ClassVar[dict[str, Any]] = {"scale_scores": False}


@dataclass(frozen=True, kw_only=True)
class NoPosition(StructureEdit):
    """Nothing tells the positions apart, save what the mask hides."""

    tag: ClassVar[str] = "no-position"
    changes: ClassVar[dict[str, Any]] = {"position": config.NoPosition(), "positions": ()}


@dataclass(frozen=True, kw_only=True)
class NoResidual(StructureEdit):
    """What a sub-layer writes takes the place of what it read, in every block."""

    tag: ClassVar[str] = "no-residual"
    changes: ClassVar[dict[str, Any]] = {"residual": False}


@dataclass(frozen=True, kw_only=True)
class NoNorm(StructureEdit):
    """No norm anywhere: not in the blocks, not at the end, not of queries and keys, not in the head."""

    tag: ClassVar[str] = "no-norm"
    changes: ClassVar[dict[str, Any]] = {"norm": config.NoNorm()}


_CHANGEABLE = frozenset({"scale_scores", "position", "positions", "residual", "norm"})

M = TypeVar("M", bound=nn.Module)


def rebuilt(model: Transformer, config_: ModelConfig) -> Transformer:
    """The weights of ``model`` in a model of another config. They are shared, not copied; ``model`` stays as it is.

    Building it anew from the config would draw millions of weights to throw them away.

    Raises:
        ValueError: the configs differ in more than parts that can be left out.
    """
    old = model.config
    changed = {part.name for part in dataclasses.fields(ModelConfig)}
    changed = {name for name in changed if getattr(old, name) != getattr(config_, name)}
    if not changed:
        return model
    learned = {
        name
        for name in changed & {"position", "positions", "norm"}
        if not isinstance(getattr(config_, name), config.NoPosition | config.NoNorm) and getattr(config_, name) != ()
    }
    if refused := sorted(changed - _CHANGEABLE | learned):
        raise ValueError(f"{refused[0]}: the weights are of a model with {getattr(old, refused[0])!r}")
    own = stored.running(model)
    made = _rebuilt(own, config_, old)
    return made if own is model else stored.readable(made)


def _rebuilt(module: M, config_: ModelConfig, old: ModelConfig) -> M:
    """A copy of a module down to its weights, which both have in common, with the parts that the config asks for."""
    if isinstance(module, norms.Norm):
        if config_.norm == old.norm:
            return module
        return norms.build(config_.norm, 0).train(module.training)  # type: ignore[return-value]
    # A feed-forward may have norms of its own, which are not those of the blocks.
    if isinstance(module, positions.Position | FeedForward) or not module._modules:
        return module
    new = module.__new__(type(module))
    new.__dict__.update(module.__dict__)
    new._modules = {
        name: None if child is None else _rebuilt(child, config_, old) for name, child in module._modules.items()
    }
    # Whoever registers something on the copy must not register it on the original.
    new._parameters, new._buffers = dict(module._parameters), dict(module._buffers)
    match new:
        case Transformer():
            new.config = config_
        case Stack():
            new.arrange(config_)
            if config_.position != old.position:
                new.position = positions.build(config_.position, config_, new.side)
            for each in new.blocks:
                each.__class__ = block.kind(config_, new.side)
        case Attention():
            new.scale = attention.scale(config_)
    return new


def _router(config: ModelConfig, side: Side | None, layer: int, expert: int) -> str:
    """The full name of a router's logits, once stack, layer and expert are known to exist."""
    stack = stack_of(config, side)
    check_number("layer", layer, config.depth(stack))
    experts = config.layer(stack, layer).experts
    if experts is None:
        raise ValueError(f"layer: {layer} has one feed-forward network for all tokens, and no experts")
    check_number("expert", expert, experts.n_experts)
    return place(config, stack, layer, "ffn.router")


@dataclass(frozen=True, kw_only=True)
class ExpertOff(ValueEdit):
    """Take an expert out: its router logit is −∞ for every token, before the softmax and the choice.

    Where it was among the chosen, the next one stands in for it, and the weights are made of those that are left.
    A token that had not chosen it keeps its experts, with the same weights where they are normalized.

    Raises:
        ValueError: no expert of the layer is left (told when the run comes there).
    """

    tag: ClassVar[str] = "expert-off"
    layer: int
    expert: int
    side: Side | None = None

    def site(self, config: ModelConfig) -> str:
        return _router(config, self.side, self.layer, self.expert)

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        value = value.clone()
        value[..., self.expert] = -math.inf
        return _left(value, self.layer)


@dataclass(frozen=True, kw_only=True)
class ExpertOnly(ValueEdit):
    """Send tokens to one expert alone, at one position or at all: the router logits of all others are −∞.

    What the expert writes then counts with a weight of 1. Where sigmoids make the weights, and a number of each expert
    or its group decides beside them, logits of −∞ close no expert: there the weights themselves are set.

    Raises:
        ValueError: the expert was taken out before (told when the run comes there).
    """

    tag: ClassVar[str] = "expert-only"
    layer: int
    expert: int
    position: int | None = None
    side: Side | None = None

    @property
    def names_positions(self) -> bool:
        return self.position is not None

    def site(self, config: ModelConfig) -> str:
        router, stack = _router(config, self.side, self.layer, self.expert), stack_of(config, self.side)
        routed = config.layer(stack, self.layer).experts
        is_open = routed is not None and (routed.softmax == "sigmoid" or routed.choice_bias)
        return place(config, stack, self.layer, "ffn.chosen") if is_open else router

    def prepare(self, run: Run) -> Run:
        planned = super().prepare(run)
        if self.position is not None:
            check_number("position", self.position, len(run.ids[stack_of(run.config, self.side)]))
        return planned

    def apply(self, value: Tensor, name: str, seen: Mapping[str, Tensor]) -> Tensor:
        rows = slice(None) if self.position is None else self.position
        value = value.clone()
        if name.endswith(".chosen"):
            logits = seen[f"{name.removesuffix('chosen')}router"][..., rows, [self.expert]]
            _left(logits, self.layer)
            value[..., rows, :] = functional.one_hot(torch.tensor(self.expert), value.shape[-1]).to(value)
            return value
        alone = torch.full_like(value, -math.inf)
        alone[..., self.expert] = value[..., self.expert]
        value[..., rows, :] = alone[..., rows, :]
        return _left(value, self.layer)


def _left(router: Tensor, layer: int) -> Tensor:
    if bool(router.isneginf().all(-1).any()):
        raise ValueError(f"expert: no expert of layer {layer} is left for some token")
    return router
