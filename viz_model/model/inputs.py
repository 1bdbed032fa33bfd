"""What feeds the first block of a stack: token ids -> rows of a table, or a picture -> its patches projected.

Either way positions are added, and kinds of token, and the last value is ``embed.out`` [T, D].
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, assert_never

import torch
from torch import Tensor, nn

from viz_model import config
from viz_model.config import ModelConfig, Patches, Side, Tokens
from viz_model.model import norms, positions
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Scope, Vector, plus
from viz_model.values.expression import Expression
from viz_model.values.leaves import Given, Setting, Table, Value
from viz_model.values.operations import Sum, where


def scale(config: ModelConfig) -> float:
    """What rows of the table are multiplied by: √D (Vaswani et al. 2017, section 3.4), or 1."""
    return math.sqrt(config.d_model) if config.scale_embedding else 1.0


def segments(config: ModelConfig) -> nn.Embedding | None:
    """The table of kinds of token (Devlin et al. 2019, figure 2)."""
    return nn.Embedding(config.n_segments, config.d_embedding) if config.n_segments else None


class Input(nn.Module, ABC):
    """What stands at the positions, ids [B, T], and the pixels of a picture where one is read -> rows [B, T, D].

    ``module`` is what it is called in a model, ``ids`` the value that holds what stands at the positions. One that
    reads tokens is called ``embedding``, and its ``weight`` [V, D] are the rows of tokens before they are scaled.
    """

    module: ClassVar[str]
    ids: ClassVar[str]

    @abstractmethod
    def forward(self, ids: Tensor, tap: Tap = NO_TAP, pixels: Tensor | None = None) -> Tensor: ...

    def initialize(self) -> None:
        """Set what is to be learned to its first values, where a linear layer's or a table's would not do."""

    @staticmethod
    @abstractmethod
    def declare(inputs: Any, model: ModelConfig, at: Scope) -> Value:
        """Declare the rows [T, D], from what the run is given on. Weights are named from the model on."""


class TokenEmbedding(Input, nn.Embedding):
    """A trained row for every token: ids [B, T] -> [B, T, D]."""

    module: ClassVar[str] = "embedding"
    ids: ClassVar[str] = "tokens.ids"

    def __init__(self, inputs: Tokens, model: ModelConfig) -> None:
        nn.Embedding.__init__(self, model.n_vocab, model.d_embedding)
        self.scale = scale(model)

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, pixels: Tensor | None = None) -> Tensor:
        return tap("embed.token", nn.Embedding.forward(self, tap("tokens.ids", ids)) * self.scale)

    @staticmethod
    def declare(inputs: Tokens, model: ModelConfig, at: Scope) -> Value:
        t, d, ids = at.index("T"), at.index("D"), declare_ids(at)
        row: Expression = at.weight("embedding.weight", "E", "V", "D")[ids[t], d]
        if model.scale_embedding:
            row = Setting(r"\sqrt{D}", scale(model), "size", f"{model.d_model}**0.5") * row
        return at.value("embed.token", (t, d), row, symbol="e", label="token embedding", role="residual")


def declare_ids(at: Scope) -> Value:
    """Declare ``tokens.ids`` [T], which the tokenizer made of a text."""
    t, read = at.index("T"), "target_ids" if at.stack == "decoder." else "ids"
    given = Given("id", f"{at.stack}ids", "vocabulary", f"torch.tensor(trace.{read})")
    return at.value("tokens.ids", (t,), given[t], symbol=r"\mathrm{id}", label="token ids", role="token")


class PatchEmbedding(Input):
    """[CLS], where the model has it, and every patch of a picture, projected: [B, T, D].

    Dosovitskiy et al. 2021, equation 1. ``ids`` say what stands where: 0 is [CLS], n is patch n, counted along the
    rows of the picture.
    """

    module: ClassVar[str] = "patches"
    ids: ClassVar[str] = "patches.order"

    cls: nn.Parameter | None
    mean: Tensor
    std: Tensor

    def __init__(self, inputs: Patches, model: ModelConfig) -> None:
        super().__init__()
        self.patches = inputs
        self.projection = nn.Linear(inputs.n_values, model.d_model)
        self.cls = nn.Parameter(torch.empty(model.d_model)) if inputs.cls else None
        self.register_buffer("mean", torch.tensor(inputs.mean, dtype=torch.float32), persistent=False)
        self.register_buffer("std", torch.tensor(inputs.std, dtype=torch.float32), persistent=False)

    def initialize(self) -> None:
        if self.cls is not None:
            nn.init.normal_(self.cls, std=len(self.cls) ** -0.5)

    def values(self, pixels: Tensor) -> Tensor:
        """Levels [B, H, W, C] of 0 to 255 -> what the projection reads, [B, N, U]: channel by channel, row by row."""
        given, (rows, columns, side) = self.patches, (self.patches.rows, self.patches.columns, self.patches.patch)
        if pixels.shape[1:] != (given.height, given.width, given.channels):
            expected = f"{given.height} × {given.width} × {given.channels}"
            raise ValueError(f"pixels: expected {expected} levels, got {' × '.join(map(str, pixels.shape[1:]))}")
        levels = (pixels / 255 - self.mean) / self.std
        cut = levels.unflatten(2, (columns, side)).unflatten(1, (rows, side))  # [B, rows, P, columns, P, C]
        return cut.permute(0, 1, 3, 5, 2, 4).flatten(3).flatten(1, 2)

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, pixels: Tensor | None = None) -> Tensor:
        assert pixels is not None
        values = tap("patches.pixels", self.values(pixels))
        projected = tap("patches.projected", self.projection(values.to(self.projection.weight.dtype)))  # [B, N, D]
        order = tap("patches.order", ids)  # [B, T]
        if self.cls is None:
            rows, order = projected, order - 1
        else:
            rows = torch.cat((self.cls.to(projected.dtype).expand(len(ids), 1, -1), projected), 1)
        return tap("embed.patch", rows.gather(1, order[..., None].expand(-1, -1, rows.shape[-1])))

    @staticmethod
    def declare(inputs: Patches, model: ModelConfig, at: Scope) -> Value:
        at = at.with_axis("P", inputs.n_patches).with_axis("U", inputs.n_values)
        of, side = at.at("patches", "patches"), inputs.patch
        t, d, n, u = at.index("T"), at.index("D"), at.index("P", "n"), at.index("U", "u")
        level = Given("pixel", "picture", "pixel", "trace.picture")
        channel = u // side**2
        row = n // inputs.columns * side + u // side % side
        column = n % inputs.columns * side + u % side
        mean, std = (_of_channel(*each, channel) for each in (("m", inputs.mean), ("s", inputs.std)))
        pixels = of.value(
            "pixels", (n, u), (level[row, column, channel] / 255 - mean) / std,
            symbol="v", label="pixels of each patch, normalized", role="token",
        )  # fmt: skip
        matrix, bias = of.weight("projection.weight", "W^{E}", "D", "U"), of.weight("projection.bias", "b^{E}", "D")
        projected = of.value(
            "projected", (n, d), Sum(u, pixels[n, u] * matrix[d, u]) + bias[d],
            symbol="e", label="patches, projected", role="residual",
        )  # fmt: skip
        given = Given("id", "ids", "order", "torch.tensor(trace.ids)")
        zero = ", 0 is [CLS]" if inputs.cls else ""
        order = of.value(
            "order", (t,), given[t], symbol="o", label=f"which patch stands where{zero}", role="token"
        )  # fmt: skip
        stands: Expression = projected[order[t] - 1, d]
        if inputs.cls:
            stands = where(order[t].equals(0), of.weight("cls", "c", "D")[d], stands)
        label = "[CLS] and the patches" if inputs.cls else "the patches in their order"
        return at.at("embed").value("patch", (t, d), stands, symbol="r", label=label, role="residual")


def _of_channel(symbol: str, numbers: tuple[float, ...], channel: Expression) -> Expression:
    """A number for each channel; of a gray picture there is one."""
    if len(numbers) == 1:
        return Setting(symbol, numbers[0], "config")
    return Table(symbol, torch.tensor(numbers), "config", f"torch.tensor({list(numbers)})")[channel]


def kind(inputs: config.Input) -> type[Input]:
    """The class of an input."""
    match inputs:
        case Tokens():
            return TokenEmbedding
        case Patches():
            return PatchEmbedding
        case _:
            assert_never(inputs)


def declare(config: ModelConfig, side: Side, at: Scope) -> Value:
    """Declare what enters a stack, from what the run is given to the vectors that enter its first block."""
    whole, enters = at, config.input_of(side)
    if config.projects_embedding:
        at = at.calling("D", "E", config.d_embedding)
    t, d, to = at.index("T"), at.index("D"), at.at("embed")
    parts: list[Vector] = [kind(enters).declare(enters, config, at.of(""))]
    if config.n_segments:
        given = Given("segment", "segments", "segment", "torch.tensor(trace.segments)")
        row = to.weight("segment.weight", "S", "S", "D")[given[t], d]
        parts.append(to.value("segment", (t, d), row, symbol="s", label="segment embedding", role="residual"))
    added = positions.kind(config.position).declare_added(config.position, to.of(f"{side}.position"))
    if added is not None:
        parts.append(added)
    total = plus(*parts)
    if config.embedding_norm:
        total = norms.declare(config.norm, to.at("norm", "embed_norm"), total, (t, d))
    label = "embedding + position" if added is not None else "embedding"
    if config.projects_embedding:
        d, e, of = whole.index("D"), d, whole.at("embed", "project").with_axis("E", config.d_embedding)
        matrix, bias = of.weight("weight", "W^{E}", "D", "E"), of.weight("bias", "b^{E}", "D")
        projected = Sum(e, total[t, e] * matrix[d, e]) + bias[d]
        return of.value(
            "out", (t, d), projected, symbol="x", label=f"{label}, made as wide as the stream", role="residual"
        )
    return to.value("out", (t, d), total[t, d], symbol="x", label=label, role="residual")
