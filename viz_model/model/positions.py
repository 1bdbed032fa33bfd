"""How a model knows the order of its tokens.

A scheme may act in three places: add a vector to the embedding, rotate queries and keys, or add a
number to the scores. Each does nothing unless a scheme says otherwise.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional

from viz_model import config
from viz_model.config import ModelConfig, Side
from viz_model.model import ops
from viz_model.model.bucket import Bucket
from viz_model.model.rope_scaling import scale_frequencies
from viz_model.values.declaration import Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Table, Value
from viz_model.values.operations import Sum, absolute, cos, sin, where

if TYPE_CHECKING:
    from viz_model.values.code import Code


class Position(nn.Module):
    """Nothing tells positions apart: the neutral scheme, and the base of the others.

    Every scheme is made from its choice in the config, the model's config and the stack it serves.
    """

    ends: ClassVar[bool] = False
    """Whether attention knows no distance beyond the context, because a table has no row for it."""

    def __init__(self, position: Any, model: ModelConfig, side: Side) -> None:
        super().__init__()

    def initialize(self) -> None:
        """Set what is to be learned to its first values, where a linear layer's or a table's would not do."""

    def add(self, start: int, length: int) -> Tensor | None:
        """The vectors [T, D] that are added to the embeddings of positions start …, or None for nothing."""
        return None

    def rotate(self, x: Tensor, start: int) -> Tensor:
        """Queries or keys [.., T, K] of positions start … -> the same, turned."""
        return x

    def rotate_keys(self, x: Tensor, start: int) -> Tensor:
        """Keys, where they are turned in another way than queries, of which alone :meth:`rotate` is asked then."""
        return self.rotate(x, start)

    def bias(self, n_queries: int, n_keys: int) -> Tensor | None:
        """[H, Tq, Tk], to be added to the scores, or None for nothing. The queries are the last positions."""
        return None

    def content_bias(self, q: Tensor, k: Tensor, start: int, scale: float) -> Tensor | None:
        """[.., H, Tq, Tk], to be added to the scores, where it depends on queries or keys too; None for nothing.

        The queries [.., H, Tq, K] are those of positions start …, the keys [.., H, Tk, K] those of all, as the scores
        read them; ``scale`` is what the scores are multiplied by.
        """
        return None

    @staticmethod
    def declare_added(position: Any, at: Scope) -> Value | None:
        """Declare ``position``, the vectors that are added to the embedding."""
        return None

    @staticmethod
    def declare_rotated(position: Any, at: Scope, x: Value, letter: str, index: tuple[Index, ...]) -> Value:
        """Declare ``q_rotated`` or ``k_rotated``: queries or keys ``x``, read at ``index``, turned by position."""
        return x

    @staticmethod
    def declare_bias(position: Any, at: Scope, index: tuple[Index, ...], *, two_way: bool) -> Value | None:
        """Declare ``bias``, what is added to the scores at [h, i, j]. Weights are named from the stack on."""
        return None

    @staticmethod
    def declare_content_bias(
        position: Any,
        at: Scope,
        q: Vector,
        k: Vector,
        index: tuple[Index, ...],
        scaled: Callable[[Expression], Expression],
    ) -> Value | None:
        """Declare ``bias`` where it depends on the queries ``q[h, i, c]`` or the keys ``k[h, j, c]`` too.

        ``scaled`` is what becomes of a product.
        """
        return None


def rotates(position: Position) -> bool:
    """Whether a scheme turns queries and keys."""
    return type(position).rotate is not Position.rotate


def biases(position: Position) -> bool:
    """Whether a scheme adds something to the scores that depends on the places alone."""
    return type(position).bias is not Position.bias


def reads_content(position: Position) -> bool:
    """Whether what a scheme adds to the scores depends on queries or keys."""
    return type(position).content_bias is not Position.content_bias


def bias_of(at: Scope, index: tuple[Index, ...], expression: Expression) -> Value:
    """What a scheme adds to a score, as it is declared."""
    return at.value("bias", index, expression, symbol="B", label="position bias", role="position", derived=True)


class Sinusoidal(Position):
    """Waves of geometrically growing length, added to the embedding (Vaswani et al. 2017, 3.5)."""

    waves: Tensor

    def __init__(self, position: config.Sinusoidal, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        # Not a weight: it is recomputed from the config, never stored in a checkpoint.
        interleaved = position.layout == "interleaved"
        table = ops.sinusoid(torch.arange(model.n_context), model.d_embedding, position.base, interleaved=interleaved)
        self.register_buffer("waves", table, persistent=False)

    def add(self, start: int, length: int) -> Tensor:
        # A copy, because a trace keeps what it is given and the table belongs to the model.
        return self.waves[start : start + length].clone()

    @staticmethod
    def declare_added(position: config.Sinusoidal, at: Scope) -> Value:
        t, d = at.index("T"), at.index("D")
        base, width = Setting("b", position.base, "config"), at.size("D")
        half = int(at.size("D").number) // 2
        pair, is_sine = (d // 2, (d % 2).equals(0)) if position.layout == "interleaved" else (d % half, d < half)
        angle = t * base ** (-2 * pair / width)
        return at.value(
            "position", (t, d), where(is_sine, sin(angle), cos(angle)),
            symbol="p", label=position.label, role="position", lines=lambda code: _waves(code, position, half, t),
        )  # fmt: skip


def _waves(code: "Code", position: config.Sinusoidal, half: int, t: Index) -> str:
    code.lines += [
        f"t = torch.arange({code.length(t)}, dtype=torch.float64)[:, None]",
        f"angle = t / {position.base} ** (torch.arange({half}) / {half})  # [T, D/2]",
    ]
    if position.layout == "interleaved":
        return "torch.stack((angle.sin(), angle.cos()), -1).flatten(1).float()"
    return "torch.cat((angle.sin(), angle.cos()), -1).float()"


class Learned(Position):
    """A trained row for every position, added to the embedding (Devlin et al. 2019, figure 2)."""

    def __init__(self, position: config.Learned, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.table = nn.Embedding(model.n_context, model.d_embedding)

    def add(self, start: int, length: int) -> Tensor:
        return self.table(torch.arange(start, start + length, device=self.table.weight.device))

    @staticmethod
    def declare_added(position: config.Learned, at: Scope) -> Value:
        t, d = at.index("T"), at.index("D")
        table = at.weight("table.weight", "P", "C", "D")
        return at.value("position", (t, d), table[t, d], symbol="p", label=position.label, role="position")


class Rope(Position):
    """Pairs of q and k turned by position × frequency, so that q·k depends on the offset alone.

    Su et al. 2021, section 3.2.2.
    """

    def __init__(self, position: config.Rope, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.unscaled = rotary_frequencies(position, model.d_head)
        # [R/2] radians a position
        self.frequencies, self.stretch = scale_frequencies(self.unscaled, position.base, position.scaling)
        self.interleaved = position.pairing == "interleaved"
        self.n_pairs = position.span(model.d_head) // 2  # those that do not turn included

    def angles(self, start: int, length: int) -> Tensor:
        """[T, R/2] radians, float64: single precision loses the fast waves at far positions."""
        return torch.arange(start, start + length, dtype=torch.float64)[:, None] * self.frequencies

    def rotate(self, x: Tensor, start: int) -> Tensor:
        angles = functional.pad(self.angles(start, x.shape[-2]), (0, self.n_pairs - len(self.frequencies)))
        return ops.rotate(x, angles, interleaved=self.interleaved, stretch=self.stretch)

    @staticmethod
    def declare_rotated(position: config.Rope, at: Scope, x: Value, letter: str, index: tuple[Index, ...]) -> Value:
        head, t, k = index
        width = at.sizes["K"]
        n, span = position.rotated(width), position.span(width)
        half = span // 2
        interleaved = position.pairing == "interleaved"
        pair = k // 2 if interleaved else k % half
        is_first = (k % 2).equals(0) if interleaved else k < half
        after, before = (k + 1, k - 1) if interleaved else (k + half, k - half)
        turns = Setting("b", position.base, "config") ** (-2 * pair / Setting("R", span, "config"))
        stretch = 1.0
        if position.scaling is not None:
            unscaled = rotary_frequencies(position, width)
            frequencies, stretch = scale_frequencies(unscaled, position.base, position.scaling)
            slower = functional.pad(frequencies / unscaled, (0, half - n // 2), value=1.0)
            turns = turns * Table(r"\kappa", slower, "scheme", "")[pair]
        angle = t * turns
        own = x[index]
        turned = where(
            is_first,
            own * cos(angle) - x[head, t, after] * sin(angle),
            own * cos(angle) + x[head, t, before] * sin(angle),
        )
        if stretch != 1:
            turned = Setting("m", stretch, "scheme") * turned
        if n < span:
            turned = where(pair < n // 2, turned, own)
        elif n < width:
            turned = where(k < n, turned, own)
        which = {"q": "queries", "k": "keys"}[letter]
        return at.value(
            f"{letter}_rotated", index, turned,
            symbol=f"{letter}'", label=f"{which}, rotated by position", role="position",
            lines=lambda code: _turned(code, position, n, span, at, x, t),
        )  # fmt: skip


def rotary_frequencies(position: config.Rope, d_head: int) -> Tensor:
    """Radians a position of each of the R/2 pairs that turn, before any scaling, float64."""
    return ops.rotary_frequencies(position.span(d_head), position.base)[: position.rotated(d_head) // 2]


def _turned(code: "Code", position: config.Rope, n: int, span: int, at: Scope, x: Value, t: Index) -> str:
    shape, axis = (f"({span // 2}, 2)", "-1") if position.pairing == "interleaved" else (f"(2, {span // 2})", "-2")
    theta, stretch = f"{float(position.base)} ** -(torch.arange(0, {n}, 2, dtype=torch.float64) / {span})", ""
    if position.scaling is not None:
        code.lines.append(
            f"rope = lm.model.get_submodule({at.module.rstrip('.')!r})  # {type(position.scaling).__name__}"
        )
        theta, stretch = "rope.frequencies", " * rope.stretch"
    if n < span:
        theta = f"torch.nn.functional.pad({theta}, (0, {(span - n) // 2}))"
    code.lines += [
        f"angle = torch.arange({code.length(t)})[:, None] * {theta}  # [T, {span // 2}]",
        f"cos, sin = (angle.cos(){stretch}).float(), (angle.sin(){stretch}).float()",
        f'x = trace["{x.site}"]',
        f"a, b = x[..., :{span}].unflatten(-1, {shape}).unbind({axis})",
    ]
    turned = f"torch.stack((a * cos - b * sin, a * sin + b * cos), {axis}).flatten(-2)"
    return turned if span == at.sizes["K"] else f"torch.cat(({turned}, x[..., {span}:]), -1)"


class Alibi(Position):
    """Each head lowers a score by its slope times the distance (Press et al. 2022, section 3)."""

    def __init__(self, position: config.Alibi, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.slopes = _slopes(position, model.n_heads, model.d_head)

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        return -self.slopes[:, None, None] * ops.distances(n_queries, n_keys).abs()

    @staticmethod
    def declare_bias(position: config.Alibi, at: Scope, index: tuple[Index, ...], *, two_way: bool) -> Value:
        h, i, j = index
        n_heads, width = at.sizes["H"], at.sizes["K"]
        slopes = Table("m", _slopes(position, n_heads, width), "scheme", _python_of_slopes(position, n_heads, width))
        return bias_of(at, index, -slopes[h] * absolute(j - i))


def _slopes(position: config.Alibi, n_heads: int, width: int) -> Tensor:
    """[H], of heads of K values."""
    slopes = ops.alibi_slopes(n_heads)
    return slopes / math.sqrt(width) if position.divided else slopes


def _python_of_slopes(position: config.Alibi, n_heads: int, width: int) -> str:
    """Python for the slopes (:func:`viz_model.model.ops.alibi_slopes`)."""
    below = 2 ** (n_heads.bit_length() - 1)
    own = f"torch.tensor([2 ** (-8 * (h + 1) / {below}) for h in range({below})]"
    if n_heads > below:
        own += f" + [2 ** (-4 * (h + 1) / {below}) for h in range(0, {2 * (n_heads - below)}, 2)]"
    return own + (f") / {width}**0.5" if position.divided else ")")


class T5Bias(Position):
    """A trained number for each head and bucket of distances (Raffel et al. 2020, section 2.1).

    One table serves all blocks of a stack, unless each has its own.
    """

    def __init__(self, position: config.T5Bias, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.buckets = nn.Embedding(position.buckets, model.n_heads)
        self.max_distance = position.max_distance
        self.two_way = side == "encoder"

    def initialize(self) -> None:
        nn.init.zeros_(self.buckets.weight)  # no distance is preferred before anything was learned

    def bucket(self, distance: Tensor) -> Tensor:
        """The bucket of each distance, key − query: any shape -> the same shape."""
        return ops.t5_buckets(
            distance, two_way=self.two_way, n_buckets=self.buckets.num_embeddings, max_distance=self.max_distance
        )

    def bias(self, n_queries: int, n_keys: int) -> Tensor:
        buckets = self.bucket(ops.distances(n_queries, n_keys)).to(self.buckets.weight.device)
        return self.buckets(buckets).permute(2, 0, 1)

    @staticmethod
    def declare_bias(position: config.T5Bias, at: Scope, index: tuple[Index, ...], *, two_way: bool) -> Value:
        h, i, j = index
        of = at.with_axis("B", position.buckets)
        table = of.weight("buckets.weight", "b", "B", "H")
        return bias_of(of, index, table[Bucket(j - i, position, two_way), h])


class RelativeKey(Position):
    """Query · vector of the distance, added to every score (Shaw et al. 2018, equation 4, its key part).

    With ``with_keys`` the product of key and vector is added too (Huang et al. 2020, method 4).
    """

    ends = True

    def __init__(self, position: config.RelativeKey, model: ModelConfig, side: Side) -> None:
        super().__init__(position, model, side)
        self.reach = model.n_context - 1
        self.distances = nn.Embedding(2 * self.reach + 1, model.d_head)
        self.with_keys = position.with_keys

    def initialize(self) -> None:
        nn.init.normal_(self.distances.weight, std=0.02)  # as BERT's

    def content_bias(self, q: Tensor, k: Tensor, start: int, scale: float) -> Tensor:
        at = torch.arange(start, start + q.shape[-2], device=q.device)
        away = torch.arange(k.shape[-2], device=q.device) - at[:, None] + self.reach  # [Tq, Tk]
        vectors = self.distances(away)  # [Tq, Tk, K]
        added = torch.einsum("...ik,ijk->...ij", q, vectors)
        if self.with_keys:
            added = added + torch.einsum("...jk,ijk->...ij", k, vectors)
        return added * scale

    @staticmethod
    def declare_content_bias(
        position: config.RelativeKey,
        at: Scope,
        q: Vector,
        k: Vector,
        index: tuple[Index, ...],
        scaled: Callable[[Expression], Expression],
    ) -> Value:
        (h, i, j), c, context = index, at.index("K"), at.sizes["C"]
        table = at.with_axis("R", 2 * context - 1).weight("distances.weight", "r", "R", "K")
        vector = table[j - i + (context - 1), c]
        added: Expression = Sum(c, q[h, i, c] * vector)
        if position.with_keys:
            added = added + Sum(c, k[h, j, c] * vector)
        return bias_of(at, index, scaled(added))


class Nowhere(Position):
    """No scheme at all, for what has no order of its own: queries that read another sequence."""

    def __init__(self) -> None:
        nn.Module.__init__(self)


NOWHERE = Nowhere()


def kind(position: config.Position) -> type[Position]:
    """The class of a scheme."""
    match position:
        case config.Sinusoidal():
            return Sinusoidal
        case config.Learned():
            return Learned
        case config.Rope():
            return Rope
        case config.Alibi():
            return Alibi
        case config.T5Bias():
            return T5Bias
        case config.RelativeKey():
            return RelativeKey
        case config.NoPosition():
            return Position
        case _:
            assert_never(position)


def build(position: config.Position, model: ModelConfig, side: Side) -> Position:
    """The scheme of a stack, or of those of its layers that have one of their own."""
    return kind(position)(position, model, side)
