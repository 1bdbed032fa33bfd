"""A model with another function in some of its places. Weights are shared; the model itself is never touched."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from viz_model.model import ops, sites
from viz_model.model.attention import Attention, Given
from viz_model.model.block import Block
from viz_model.model.tap import NO_TAP, Tap
from viz_model.model.transformer import Transformer
from viz_model.runs.recorder import recorder
from viz_model.runs.trace import Trace

Function = Callable[..., Any]
M = TypeVar("M", bound=nn.Module)


def call(function: Function, given: Mapping[str, Any]) -> Any:
    """Call a function with those of the arguments that it takes; all, where it takes any."""
    taken = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        return function(**given)
    return function(**{name: given[name] for name in taken})


def replaced(module: M, swap: Callable[[str, nn.Module], nn.Module | None], name: str = "") -> M:
    """A copy of a tree of modules in which ``swap(name, module)`` takes the place of those for which it is not None."""
    other = swap(name, module)
    if other is not None:
        return other  # type: ignore[return-value]
    if not module._modules:
        return module
    new = copy.copy(module)
    new._modules = {
        own: None if child is None else replaced(child, swap, f"{name}.{own}" if name else own)
        for own, child in module._modules.items()
    }
    return new


def _with(module: M, **parts: Any) -> M:
    """A copy with other methods or attributes: an instance's own stand before those of its class."""
    new = copy.copy(module)
    new.__dict__.update(parts)
    return new


def visible(run: Trace, layer: int) -> Tensor:
    """The mask [Tq, Tk] of a layer's self-attention, True where a query may look."""
    return run.head(f"blocks.{layer}.attn.mask", 0) == 0


def queries_and_keys(run: Trace, layer: int, head: int) -> tuple[Tensor, Tensor]:
    """What the scores of a head are made of, [T, K] each."""
    at = run.full_name(f"blocks.{layer}.attn")
    q, k = (run.head(name.removeprefix(run.prefix), head) for name in sites.scored(at, run.config))
    return q, k


def attention_arguments(q: Tensor, k: Tensor, bias: Tensor | None, seen: Tensor, factor: float) -> dict[str, Any]:
    """Whatever a function on the way to the pattern may ask for.

    q [.., Tq, K], k [.., Tk, K], bias [.., Tq, Tk] or None, seen [Tq, Tk]; scores are with the bias, before the mask.
    """
    mask = ops.additive(seen)
    scores = ops.scores(q, k, factor)
    scores = scores if bias is None else scores + bias
    return {
        "q": q,
        "k": k,
        "scale": factor,
        "scores": scores,
        "mask": mask,
        "attn_bias": mask if bias is None else mask + bias,
        "masked": scores + mask,
    }


def with_pattern(run: Trace, layers: Collection[int], function: Function) -> Transformer:
    """The model of a run with another way from q and k to the pattern, in these layers of the run's stack."""
    stack, here = run.stack, f"{run.stack.side}.blocks."
    length = len(run)

    def mix(
        attention: Attention,
        layer: int,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        attn_bias: Tensor | None,
        tap: Tap = NO_TAP,
    ) -> Tensor:
        scheme, seen = stack.position_of(layer), visible(run, layer)
        bias = scheme.bias(length, length)
        if bias is None:
            bias = scheme.query_bias(q, 0, length, attention.scale)
        k, v = ops.share_heads(k, attention.n_heads), ops.share_heads(v, attention.n_heads)
        given = attention_arguments(q, k, bias, seen, attention.scale)
        pattern = call(function, given)
        if tap.changes("pattern"):
            tap("masked", given["masked"])
            pattern = tap("pattern", pattern)
        z = tap("z", ops.mix(pattern, v))
        return tap("out", attention.o(ops.merge_heads(z)))

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        layer, _, rest = name.removeprefix(here).partition(".")
        if not (name.startswith(here) and rest == "attn" and int(layer) in layers):
            return None
        assert isinstance(module, Attention)
        return _with(module, mix=functools.partial(mix, module, int(layer)))

    return replaced(run.model, swap)


def with_split(run: Trace, function: Function) -> Transformer:
    """Queries, keys and values of all attention layers cut into heads by another function."""

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        if not isinstance(module, Attention):
            return None
        new = copy.copy(module)
        heads = {"q": module.n_heads, "k": module.n_kv_heads, "v": module.n_kv_heads}
        new._modules = {
            own: _split_by(child, function, heads[own]) if child is not None and own in heads else child
            for own, child in module._modules.items()
        }
        return new

    return replaced(run.model, swap)


def _split_by(linear: nn.Module, function: Function, n_heads: int) -> nn.Module:
    """A linear layer whose output, once it is cut into heads as it should be, is what ``function`` cuts."""

    def forward(x: Tensor) -> Tensor:
        made = type(linear).forward(linear, x)
        return ops.merge_heads(call(function, {"x": made[0].contiguous(), "n_heads": n_heads}))[None]

    return _with(linear, forward=forward)


def with_waves(run: Trace, function: Function) -> Transformer:
    """Other position vectors; ``function(positions, d_model, base)`` -> [C, D]."""

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        waves = module._buffers.get("waves")
        if waves is None:
            return None
        new = copy.copy(module)
        at = torch.arange(len(waves), dtype=torch.float64)
        base = getattr(run.config.position, "base", 0.0)
        new._buffers = {**module._buffers, "waves": function(positions=at, d_model=waves.shape[1], base=base)}
        return new

    return replaced(run.model, swap)


def with_norm(run: Trace, function: Function) -> Transformer:
    """Another function in the place of every norm."""
    kind = type(run.stack.block(0).attn_norm)

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        if not isinstance(module, kind):
            return None
        weights = norm_arguments(module)
        return _with(module, forward=lambda x, tap=NO_TAP: tap("out", call(function, {"x": x, **weights})))

    return replaced(run.model, swap)


def norm_arguments(norm: Any) -> dict[str, Any]:
    """What a function in the place of a norm with a gain and a shift may ask for beside the vector."""
    return {"gain": norm.weight, "shift": norm.bias, "eps": norm.eps}


def _block_of(block: Block, function: Function, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
    """A block whose norm, sub-layer and addition are put together by ``function(x, norm, sublayer)``."""

    def norm(which: str) -> Function:
        return lambda y: getattr(block, f"{which}_norm")(y, tap.at(f"{which}.norm"))

    x = tap("resid.in", x)
    x = tap("resid.mid", function(x, norm("attn"), lambda y: block.attend(y, given, tap)))
    if block.cross is not None:
        x = tap("resid.cross", function(x, norm("cross"), lambda y: block.attend_source(y, given, tap)))
    return tap("resid.out", function(x, norm("ffn"), lambda y: block.feed_forward(y, tap)))


def with_addition(run: Trace, function: Function) -> Transformer:
    """Another way to put norm, sub-layer and addition together, in every block."""

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        if not isinstance(module, Block):
            return None
        return _with(module, forward=functools.partial(_block_of, module, function))

    return replaced(run.model, swap)


def with_dropout(run: Trace, function: Callable[[Tensor], Tensor]) -> Transformer:
    """Another function in the places of dropout: on the embedding, and on what each sub-layer adds."""

    def swap(name: str, module: nn.Module) -> nn.Module | None:
        return _with(module, forward=function) if isinstance(module, nn.Dropout) else None

    return replaced(run.model, swap)


def padded(run: Trace, n: int) -> tuple[tuple[int, ...], Tensor]:
    """The ids with n of padding behind them, and which of them are padding [T + n].

    What fills the context is cut, so that there is room. Nobody should look at padding, so its id does not matter:
    it is the end of a text where the vocabulary has one, as is usual, or else id 0.
    """
    ids = run.ids[: run.config.n_context - n]
    pad = run.tokenizer.end_of_text or 0
    return (*ids, *(pad for _ in range(n))), torch.arange(len(ids) + n) >= len(ids)


def vectors(
    run: Trace, model: Transformer, *, ids: Sequence[int] | None = None, padding: Tensor | None = None
) -> Tensor:
    """What the output of a model reads at every position, [T, D], for the text and the edits of a run.

    ``ids`` in place of the run's own are run without its edits of values and masks, which speak of other tokens.
    """
    target = None if run.target_ids is None else torch.tensor([run.target_ids])
    segments = None if run.segments is None or ids is not None else torch.tensor([run.segments])
    made = model.vectors(
        torch.tensor([run.ids if ids is None else ids]),
        target,
        segments=segments,
        padding=None if padding is None else padding[None],
        visible=run.visible if ids is None else None,
        tap=recorder(run.config, run.changes) if ids is None else NO_TAP,
    )
    return made[0]


def last_vectors(run: Trace) -> Tensor:
    """What the output of a run read, [T, D]: of an encoder–decoder its decoder's."""
    seen = run.at(run.config.sides[-1])
    return seen[seen.leaving]
