"""A model whose weights are kept in 16 bits, quantized or elsewhere, and are read as numbers of single precision.

Two models share the weights. One *runs*: it computes in the type in which they are stored, where they lie. The other
is *read*: whoever takes a weight, a norm or a block of it gets single precision in main memory, made when it is asked
for and forgotten when there are too many of them; what it runs as a whole (the input, a stack, the head), the first
runs for it. So nothing that reads a model or a run has to know in which type it was computed.
"""

import copy
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from viz_model.model.attention import Source
from viz_model.model.heads import Head
from viz_model.model.inputs import Input
from viz_model.model.packed import Packed
from viz_model.model.tap import NO_TAP, Scoped, Tap, ignores
from viz_model.model.transformer import Stack, Transformer

M = TypeVar("M", bound=nn.Module)

MOST_WIDE = 2**28
"""Bytes of weights in single precision that are kept for whoever reads them next: those of a block of 60 million."""

AT_ONCE = 2**21
"""Numbers of a large table that are made single precision at once: few enough for the processor's cache."""

_WHOLE: dict[type[nn.Module], tuple[str, ...]] = {
    Input: ("forward",),
    Stack: ("forward", "embed", "run_block"),
    Head: ("forward", "before", "uncapped"),
}
_RUNS = "_runs"


def readable(model: Transformer) -> Transformer:
    """The model as it is read; itself where its weights are numbers of single precision in main memory."""
    if all(map(_is_plain, model.parameters())):
        return model
    return _Reading(model).of(model, {})


def _is_plain(weight: Tensor) -> bool:
    return weight.dtype == torch.float32 and weight.device.type == "cpu" and not isinstance(weight, Packed)


def running(module: M) -> M:
    """The module as it runs, of one that is read; itself of any other."""
    link = module.__dict__.get(_RUNS)
    return module if link is None or link.module is None else link.module


def dtype_of(module: nn.Module) -> torch.dtype:
    """The type in which a module computes: that of most of its weights."""
    return _place(running(module))[0]


def device_of(module: nn.Module) -> torch.device:
    """Where a module computes."""
    return _place(running(module))[1]


def n_bytes(model: Transformer) -> int:
    """What the weights of a model take."""
    return sum(one.n_bytes if isinstance(one, Packed) else one.nbytes for one in running(model).parameters())


def as_run(module: nn.Module, value: Tensor) -> Tensor:
    """Numbers in the type and at the place in which a module computes."""
    dtype, device = _place(running(module))
    return value.to(device, dtype)


def single(value: Tensor) -> Tensor:
    """Numbers in single precision in main memory; what is no number of a fraction keeps its type."""
    if isinstance(value, Packed):
        return value.dense()
    return value.to("cpu", torch.float32) if value.is_floating_point() else value.cpu()


def products(x: Tensor, layer: nn.Linear) -> Tensor:
    """x·Wᵀ in single precision, without a bias: [.., D] -> [.., V]; of a large table some rows at a time."""
    own = running(layer)
    if own is layer:
        return x @ layer.weight.detach().T
    weight, some = own.weight.detach(), max(1, AT_ONCE // x.shape[-1])
    return torch.cat([x @ single(weight[n : n + some]).T for n in range(0, len(weight), some)], -1)


def table(layer: nn.Linear | nn.Embedding) -> Tensor:
    """The rows of a table as they are stored, for whoever takes a few of them or their mean."""
    return running(layer).weight.detach()


def entries(model: Transformer, weight: str, index: Any) -> Tensor:
    """Entries of a weight in single precision, without the others."""
    return single(running(model).get_parameter(weight).detach()[index])


def reads_at(model: Transformer) -> torch.device:
    """Where a model takes what it reads, and where what it makes is seen."""
    return torch.device("cpu") if running(model) is not model else _place(model)[1]


def _place(module: nn.Module) -> tuple[torch.dtype, torch.device]:
    largest = max(module.parameters(), key=Tensor.numel, default=None)
    return (torch.float32, torch.device("cpu")) if largest is None else (largest.dtype, largest.device)


class _Reading:
    """Makes the modules that are read, and keeps the weights that were read last."""

    def __init__(self, model: Transformer) -> None:
        self._dtype, self._device = _place(model)
        self._forget()

    def _forget(self) -> None:
        self._kept: OrderedDict[int, nn.Parameter] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"_dtype": self._dtype, "_device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def of(self, module: M, known: dict[int, nn.Module]) -> M:
        """The module as it is read: a copy down to its weights, which both have in common.

        Args:
            known: the copies made so far. They are not kept here: a model that leads to itself would not be gone as
                soon as nobody holds it.
        """
        if id(module) in known:
            return cast(M, known[id(module)])
        made = known[id(module)] = copy.copy(module)
        modules = {name: None if part is None else self.of(part, known) for name, part in module._modules.items()}
        buffers = {name: None if one is None else single(one) for name, one in module._buffers.items()}
        made.__dict__.update(
            {
                _RUNS: _Link(module),
                "_parameters": _Weights(module._parameters, self.weight),
                "_buffers": buffers,
                "_modules": modules,
            }
        )
        for kind, methods in _WHOLE.items():
            for method in methods if isinstance(module, kind) else ():
                made.__dict__[method] = functools.partial(self._run, getattr(module, method))
        return made

    def weight(self, stored: nn.Parameter) -> nn.Parameter:
        """A weight in single precision."""
        if _is_plain(stored):
            return stored
        with self._lock:
            if (known := self._kept.get(id(stored))) is not None:
                self._kept.move_to_end(id(stored))
                return known
        # A weight that is kept may be read by a gradient later.
        with torch.inference_mode(False):
            made = nn.Parameter(single(stored.detach()), requires_grad=False)
        if made.nbytes <= MOST_WIDE:
            with self._lock:
                if id(stored) not in self._kept:
                    self._kept[id(stored)] = made
                    self._bytes += made.nbytes
                while self._bytes > MOST_WIDE:
                    self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _run(self, method: Callable[..., Tensor | Source], *args: Any, **named: Any) -> Any:
        """What a method of a module that runs makes of numbers in single precision, in single precision."""
        made = method(*map(self._as_run, args), **{name: self._as_run(value) for name, value in named.items()})
        return single(made)  # type: ignore[arg-type]

    def _as_run(self, value: Any) -> Any:
        match value:
            case Tensor():
                return value.to(self._device, self._dtype if value.is_floating_point() else value.dtype)
            case Source():
                return replace(value, vectors=self._as_run(value.vectors), padding=self._as_run(value.padding))
            case Tap() if value is not NO_TAP:
                return _Between(value)
        return value


class _Link:
    """The module that runs, of one that is read. A copy of the latter is a module by itself."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Link":
        return _Link(None)


class _Weights(dict[str, nn.Parameter | None]):
    """The weights of a module by name: one that is taken is read; whoever goes through them finds them as stored."""

    def __init__(self, stored: dict[str, nn.Parameter | None], read: Callable[[nn.Parameter], nn.Parameter]) -> None:
        super().__init__(stored)
        self._read = read

    def __getitem__(self, name: str) -> nn.Parameter | None:
        stored = super().__getitem__(name)
        return None if stored is None else self._read(stored)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, nn.Parameter | None]:
        return {name: copy.deepcopy(self[name], memo) for name in self}


class _Between:
    """A tap that sees single precision in main memory, in a model that runs otherwise."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._last: tuple[Tensor | None, Tensor | None] = (None, None)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if ignores(self._tap, name):
            return self._tap(name, value)
        known, seen = self._last
        if seen is None or known is not value:  # what leaves a block enters the next: one tensor under two names
            seen = single(value)
            self._last = (value, seen)
        found = self._tap(name, seen)
        # A gradient that is asked for passes what was seen.
        return value if found is seen and not found.requires_grad else found.to(value.device, value.dtype)

    def at(self, prefix: str) -> Scoped:
        return Scoped(self, prefix)

    def changes(self, name: str) -> bool:
        return self._tap.changes(name)
