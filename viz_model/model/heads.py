"""From the last vectors to what a model says: a number for every token, for every class, or nothing."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model import config
from viz_model.config import ModelConfig
from viz_model.model import norms, ops
from viz_model.model.activations import ACTIVATIONS, activated
from viz_model.model.feedforward import linear
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression, Number
from viz_model.values.leaves import Setting
from viz_model.values.operations import Between, Softmax, Sum, relu, tanh, within


class Head(nn.Module, ABC):
    """[B, T, D] -> [B, T, V].

    ``unembedding`` is the matrix of the logits, where there are any; ``scale`` is what vectors are multiplied by first,
    ``cap`` what logits are kept within; ``is_direct`` says that nothing else stands before the matrix.
    """

    is_direct: ClassVar[bool] = False

    unembedding: nn.Linear | None
    scale: float = 1.0
    cap: float | None = None

    @abstractmethod
    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """What the unembedding reads: [.., D] -> [.., D], or [.., E] where its rows are narrower."""

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return ops.cap(self.uncapped(x, tap), self.cap)

    def uncapped(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """The logits before the cap, where the head has one."""
        assert self.unembedding is not None
        return self.unembedding(self.before(x, tap))

    @staticmethod
    @abstractmethod
    def declare(head: Any, model: ModelConfig, at: Scope, x: Vector) -> None:
        """Declare what the head makes of the vectors ``x``."""


class LanguageHead(Head):
    """Logits x·Eᵀ: [B, T, D] -> [B, T, V] (Vaswani et al. 2017, section 3.4).

    T5 multiplies x by D^−½ first, because it ties an unembedding to embeddings it never scaled up.
    """

    is_direct: ClassVar[bool] = True

    def __init__(self, head: config.LanguageHead, model: ModelConfig) -> None:
        super().__init__()
        self.unembedding = nn.Linear(model.d_model, model.n_vocab, bias=head.bias)
        self.scale = model.d_model**-0.5 if head.scale else head.factor or 1.0
        self.cap = head.cap

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x * self.scale

    @staticmethod
    def declare(head: config.LanguageHead, model: ModelConfig, at: Scope, x: Vector) -> None:
        _logits(model, at, x, scale=head.scale, bias=head.bias, cap=head.cap, factor=head.factor)


class MaskedHead(Head):
    """A layer and a norm, then logits with a bias: [B, T, D] -> [B, T, V] (Devlin et al. 2019, as released).

    Its layer comes back to E numbers where the rows of the table have as many (Lan et al. 2020, as released).
    """

    def __init__(self, head: config.MaskedHead, model: ModelConfig) -> None:
        super().__init__()
        width = model.d_embedding
        self.dense = nn.Linear(model.d_model, width, bias=head.dense_bias)
        self.activation = ACTIVATIONS[head.activation]
        self.norm = norms.build(model.norm, width)
        self.unembedding = nn.Linear(width, model.n_vocab, bias=head.bias)

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return self.norm(tap("head.act", self.activation(self.dense(x))), tap.at("head.norm"))

    @staticmethod
    def declare(head: config.MaskedHead, model: ModelConfig, at: Scope, x: Vector) -> None:
        into = "E" if model.projects_embedding else "D"
        before = linear(at.at("head", "head").with_axis("E", model.d_embedding), "dense", "H", x, into,
                        bias=head.dense_bias)  # fmt: skip
        at = at.calling("D", "E", model.d_embedding) if model.projects_embedding else at
        t, d, of = at.index("T"), at.index("D"), at.at("head", "head")
        act = of.value(
            "act", (t, d), activated(head.activation, Between("u", before)),
            symbol="y", label="the head's own layer", role="output",
        )  # fmt: skip
        normed = norms.declare(model.norm, of.at("norm", "norm"), act, (t, d))
        _logits(model, at, normed, scale=False, bias=head.bias)


_CLASS_LAYER: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Expression], Expression]]] = {
    "tanh": (torch.tanh, tanh),
    "relu": (F.relu, relu),
}
"""The activation of the layer in front of the classes, as it runs and as it is declared."""


class ClassHead(Head):
    """A number for each class, from the vector at position 0: [B, T, D] -> [B, Y] (Dosovitskiy et al. 2021, 3.1).

    Where it has a layer of its own in front, that is ``dense``.
    """

    def __init__(self, head: config.ClassHead, model: ModelConfig) -> None:
        super().__init__()
        self.unembedding = None
        self.activation = head.activation
        self.dense = nn.Linear(model.d_model, model.d_model) if head.activation is not None else None
        self.classes = nn.Linear(model.d_model, len(head.labels))

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x

    def act(self, x: Tensor) -> Tensor:
        """What the classes read: [B, T, D] -> [B, D]."""
        first = x[..., 0, :]
        return first if self.dense is None else self.activate(self.dense(first))

    def activate(self, x: Tensor) -> Tensor:
        """The activation of the layer in front."""
        return x if self.activation is None else _CLASS_LAYER[self.activation][0](x)

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return self.classes(self.act(x))

    @staticmethod
    def declare(head: config.ClassHead, model: ModelConfig, at: Scope, x: Vector) -> None:
        at = at.with_axis("Y", len(head.labels))
        d, y = at.index("D"), at.index("Y", "y")
        to, of = at.at("class"), at.of("head.classes")
        read: Expression = x[Number(0), d]
        if head.activation is not None:
            inner, dense = at.index("D", f"{d.name}'"), at.of("head.dense")
            matrix, bias = dense.weight("weight", "W^{H}", "D", "D"), dense.weight("bias", "b^{H}", "D")
            before = Sum(inner, x[Number(0), inner] * matrix[d, inner]) + bias[d]
            _, declared = _CLASS_LAYER[head.activation]
            read = to.value(
                "act", (d,), declared(Between("u", before)),
                symbol="y", label="the head's own layer", role="output", derived=True,
            )[d]  # fmt: skip
        total = Sum(d, read * of.weight("weight", "W^{Y}", "Y", "D")[y, d]) + of.weight("bias", "b", "Y")[y]
        logits = to.value(
            "logits", (y,), total, symbol=r"\ell", label="logits of the classes", role="output", derived=True
        )
        to.value(
            "probs", (y,), Softmax(y, logits[y]), symbol="p", label="class probabilities", role="output", derived=True
        )


class NoHead(Head):
    """The vectors themselves: [B, T, D] -> [B, T, D]."""

    def __init__(self, head: config.NoHead, model: ModelConfig) -> None:
        super().__init__()
        self.unembedding = None

    def before(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x

    def forward(self, x: Tensor, tap: Tap = NO_TAP) -> Tensor:
        return x

    @staticmethod
    def declare(head: config.NoHead, model: ModelConfig, at: Scope, x: Vector) -> None:
        """Nothing follows the vectors."""


def _logits(
    model: ModelConfig,
    at: Scope,
    x: Vector,
    *,
    scale: bool,
    bias: bool,
    cap: float | None = None,
    factor: float | None = None,
) -> None:
    t, d, w = at.index("T"), at.index("D"), at.index("V")
    name, letter = ("embedding.weight", "E") if model.tie_embeddings else ("head.unembedding.weight", "U")
    total: Expression = Sum(d, x[t, d] * at.weight(name, letter, "V", "D")[w, d])
    if scale:
        total = total * Setting("D^{-1/2}", model.d_model**-0.5, "size", f"{model.d_model}**-0.5")
    if factor is not None:
        total = total * Setting("m", factor, "config")
    if bias:
        total = total + at.weight("head.unembedding.bias", "b", "V")[w]
    if cap is not None:
        raw = at.value(
            "raw_logits", (t, w), total, symbol="u", label="logits before the cap", role="output", derived=True
        )  # fmt: skip
        total = within(cap, raw[t, w])
    logits = at.value("logits", (t, w), total, symbol=r"\ell", label="logits", role="output", derived=True)
    label = "token probabilities" if model.kind == "encoder" else "next-token probabilities"
    at.value("probs", (t, w), Softmax(w, logits[t, w]), symbol="p", label=label, role="output", derived=True)


def kind(head: config.Head) -> type[Head]:
    """The class of a head."""
    match head:
        case config.LanguageHead():
            return LanguageHead
        case config.MaskedHead():
            return MaskedHead
        case config.ClassHead():
            return ClassHead
        case config.NoHead():
            return NoHead
        case _:
            assert_never(head)


def build(model: ModelConfig) -> Head:
    return kind(model.head)(model.head, model)


def declare(model: ModelConfig, at: Scope, x: Vector) -> None:
    """Declare what the model's head makes of ``x``."""
    kind(model.head).declare(model.head, model, at, x)
