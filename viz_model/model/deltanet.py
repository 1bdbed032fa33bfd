r"""Gated DeltaNet: what a text has said is held in one matrix for each head, which is written and read token by token.

S  ──── · α ────┬──────────── + ──── S'          decay, and what is corrected is written at the key
                └ read at k ─ β(v − ·) ─┘        S' is read at q
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from viz_model.config import DeltaNet, ModelConfig
from viz_model.model import norms, ops
from viz_model.model.activations import activated
from viz_model.model.attention import Given
from viz_model.model.tap import NO_TAP, Tap
from viz_model.values.declaration import Role, Scope, Vector
from viz_model.values.expression import Expression
from viz_model.values.leaves import Index, Setting, Value
from viz_model.values.operations import Sum, exp, sigmoid, softplus, sqrt, where

EPS = 1e-6
"""Under the root of a query's and a key's length."""
CHUNK = 32
"""Tokens that are solved for at once."""
_KINDS: tuple[tuple[Literal["q", "k", "v"], str, Role], ...] = (
    ("q", "queries", "query"),
    ("k", "keys", "key"),
    ("v", "values", "value"),
)


_NAMES = {"q": "query", "k": "key", "v": "value"}
"""Of its values, which are no attention's: what looks for an attention's finds none."""


class GatedDeltaNet(nn.Module):
    """S ← αS + k(β(v − αSᵀk))ᵀ, read by q (Yang et al. 2024, equation 10). [B, T, D] -> [B, T, D]."""

    def __init__(self, mixer: DeltaNet, config: ModelConfig) -> None:
        super().__init__()
        self.mixer = mixer
        widths = {"q": mixer.n_keys * mixer.d_key, "k": mixer.n_keys * mixer.d_key, "v": mixer.n_values * mixer.d_value}
        for letter, width in widths.items():
            self.add_module(letter, nn.Linear(config.d_model, width, bias=False))
            self.register_parameter(f"{letter}_conv", nn.Parameter(torch.full((width, mixer.kernel), 1 / mixer.kernel)))
        self.gate = nn.Linear(config.d_model, widths["v"], bias=False)
        self.beta = nn.Linear(config.d_model, mixer.n_values, bias=False)
        self.decay = nn.Linear(config.d_model, mixer.n_values)
        self.rate = nn.Parameter(torch.zeros(mixer.n_values))
        self.norm = norms.root(config.norm.eps, mixer.d_value)
        self.o = nn.Linear(widths["v"], config.d_model, bias=False)

    def initialize(self) -> None:
        """What the state keeps for each token: from 1/2 (first head) to 0.998 (last), where the decay reads nothing."""
        with torch.no_grad():
            steps = torch.logspace(math.log10(math.log(2)), math.log10(0.002), self.mixer.n_values)
            self.decay.bias.copy_(steps.expm1().log())  # softplus of it is the step

    def forward(self, x: Tensor, given: Given, tap: Tap = NO_TAP) -> Tensor:
        mixer, around = self.mixer, given.mixed
        q, k, v = (self._convolved(letter, x, given, tap) for letter in ("q", "k", "v"))
        q, k = (ops.share_heads(x * (x.square().sum(-1, keepdim=True) + EPS).rsqrt(), mixer.n_values) for x in (q, k))
        q = q * mixer.d_key**-0.5
        beta = tap("beta", self.beta(x).sigmoid().mT)  # [B, M, T]
        fall = (-self.rate.exp() * F.softplus(self.decay(x))).mT  # log α
        alpha = tap("alpha", fall.exp())
        hidden = around.hidden(x.shape[-2])
        if hidden is not None:  # padding leaves the state as it is
            beta, alpha, fall = (
                beta.masked_fill(hidden, 0.0),
                alpha.masked_fill(hidden, 1.0),
                fall.masked_fill(hidden, 0),
            )
        kept = around.kept if around.kept is not None else {}
        state = kept.get("state", x.new_zeros(*v.shape[:2], mixer.d_key, mixer.d_value))
        if tap is NO_TAP and x.shape[-2] > 1:
            wide = torch.promote_types(v.dtype, torch.float32)  # half precision has no solver
            with torch.autocast(x.device.type, enabled=False):
                wider = q.to(wide), k.to(wide), v.to(wide), beta.to(wide), fall.to(wide), state.to(wide)
                found = in_chunks(*wider)
            read, kept["state"] = (each.to(v.dtype) for each in found)
        else:
            every = tap("state", token_by_token(k, v, beta, alpha, state))
            kept["state"] = every[..., -1, :, :]
            read = tap("read", torch.einsum("bmtk,bmtku->bmtu", q, every))
        gate = tap("gate", ops.split_heads(self.gate(x), mixer.n_values))
        z = tap("z", self.norm(read) * F.silu(gate))
        return tap("out", self.o(ops.merge_heads(z)))

    def _convolved(self, letter: str, x: Tensor, given: Given, tap: Tap) -> Tensor:
        """Queries, keys or values behind their convolution: [B, J or M, T, K or U]."""
        n = self.mixer.n_values if letter == "v" else self.mixer.n_keys
        kernel: Tensor = getattr(self, f"{letter}_conv")
        made = getattr(self, letter)(x)
        name = _NAMES[letter]
        tap(name, ops.split_heads(made, n))
        near = given.mixed.near(letter, made, self.mixer.kernel - 1)
        convolved = F.conv1d(near.mT, kernel[:, None], groups=len(kernel)).mT
        return tap(f"{name}_conv", ops.split_heads(F.silu(convolved), n))


def token_by_token(k: Tensor, v: Tensor, beta: Tensor, alpha: Tensor, state: Tensor) -> Tensor:
    """The states after every token, [B, M, T, K, U].

    Args:
        k, v: keys [B, M, T, K] and values [B, M, T, U].
        state: what stands before the first token, [B, M, K, U].
        beta: [B, M, T] how far the state is corrected.
        alpha: [B, M, T] what the state keeps.
    """
    states = []
    for t in range(k.shape[-2]):
        state = state * alpha[..., t, None, None]
        key = k[..., t, :, None]
        corrected = beta[..., t, None] * (v[..., t, :] - (state * key).sum(-2))
        state = state + key * corrected[..., None, :]
        states.append(state)
    return torch.stack(states, -3)


def in_chunks(
    q: Tensor, k: Tensor, v: Tensor, beta: Tensor, fall: Tensor, state: Tensor, size: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """What queries read [B, M, T, U], and the last state [B, M, K, U], without the states between (section 3.3).

    Inside a chunk that begins with the state S, and with γ for the product of its α up to a token, what is corrected is
    δ_t = β_t(v_t − γ_t Sᵀk_t − Σ_{i<t} (γ_t/γ_i)(k_i·k_t) δ_i): a triangular system, solved for all tokens at once.

    Args:
        q: queries [B, M, T, K], and so on as in :func:`token_by_token`.
        fall: [B, M, T] log α, whose sums do not underflow where products of α would.
    """
    reads = []
    for q_, k_, v_, beta_, fall_ in zip(*(x.split(size, 2) for x in (q, k, v, beta, fall)), strict=True):
        since = fall_.cumsum(-1)  # log γ
        between = (since[..., :, None] - since[..., None, :]).tril().exp().tril()  # γ_t/γ_i for i ≤ t
        gamma = since.exp()[..., None]
        system = beta_[..., None] * between * (k_ @ k_.mT)  # the solver reads what is below the diagonal
        asked = beta_[..., None] * (v_ - gamma * (k_ @ state))
        corrected = torch.linalg.solve_triangular(system, asked, upper=False, unitriangular=True)  # δ
        reads.append(gamma * (q_ @ state) + (between * (q_ @ k_.mT)) @ corrected)
        state = gamma[..., -1:, :] * state + (k_ * between[..., -1, :, None]).mT @ corrected
    return torch.cat(reads, 2), state


def declare(mixer: DeltaNet, config: ModelConfig, at: Scope, x: Vector) -> Value:
    """Declare a gated DeltaNet that reads ``x``. If it has as many heads as the model, they are the model's: axis H."""
    for axis, size in (
        ("J", mixer.n_keys), ("M", mixer.n_values), ("K", mixer.d_key), ("U", mixer.d_value), ("W", mixer.kernel)
    ):  # fmt: skip
        at = at.with_axis(axis, size)
    m, t, d = _heads(mixer, config, at), at.index("T"), at.index("D")
    c, u = at.index("K"), at.index("U", "u")
    head = m // (mixer.n_values // mixer.n_keys) if mixer.n_keys < mixer.n_values else m
    q, k, v = (_projected(mixer, at, x, m if kind[0] == "v" else at.index("J", "n"), *kind) for kind in _KINDS)
    units = [_unit(at, q, "q", 1 / mixer.d_key**0.5), _unit(at, k, "k", 1.0)]
    beta = at.value(
        "beta", (m, t), sigmoid(_of_head(at, "beta", r"w^{\beta}", x, m)),
        symbol=r"\beta", label="how far the state is corrected", role="pattern",
    )  # fmt: skip
    bias, rate = at.weight("decay.bias", "b", m.axis), at.weight("rate", "a", m.axis)
    slowed = softplus(_of_head(at, "decay", r"w^{\alpha}", x, m) + bias[m])
    alpha = at.value(
        "alpha", (m, t), exp(-exp(rate[m]) * slowed), symbol=r"\alpha", label="what the state keeps", role="pattern"
    )  # fmt: skip
    state = Value(f"{at.prefix}state", (m.axis, "T", "K", "U"), "S")
    before = where(t.equals(0), 0, state[m, t - 1, c, u])
    kept = at.value(
        "kept", (m, t, c, u), alpha[m, t] * before,
        symbol=r"\tilde{S}", label="state, decayed", role="value", derived=True,
    )  # fmt: skip
    found = at.value(
        "found", (m, t, u), Sum(c, kept[m, t, c, u] * units[1][head, t, c]),
        symbol=r"\hat{v}", label="what the state holds for the key", role="value", derived=True,
    )  # fmt: skip
    corrected = at.value(
        "corrected", (m, t, u), beta[m, t] * (v[m, t, u] - found[m, t, u]),
        symbol=r"\delta", label="what is corrected", role="value", derived=True,
    )  # fmt: skip
    at.value(
        "state", (m, t, c, u), kept[m, t, c, u] + units[1][head, t, c] * corrected[m, t, u],
        symbol="S", label="state, corrected", role="value",
    )  # fmt: skip
    read = at.value(
        "read", (m, t, u), Sum(c, state[m, t, c, u] * units[0][head, t, c]),
        symbol="y", label="what the query reads of the state", role="value",
    )  # fmt: skip
    gate = at.value(
        "gate", (m, t, u), Sum(d, x[t, d] * at.weight("gate.weight", "W^G", (m.axis, "U"), "D")[m, u, d]),
        symbol="g", label="gate before the activation", role="value",
    )  # fmt: skip
    normed = norms.declare_root(config.norm.eps, at, "norm", read, (m, t, u))
    z = at.value(
        "z", (m, t, u), normed * activated("silu", gate[m, t, u]),
        symbol="z", label="what is read, normalized and gated", role="value",
    )  # fmt: skip
    w_o = at.weight("o.weight", "W^O", "D", (m.axis, "U"))
    head_out = at.value(
        "head_out", (m, t, d), Sum(u, z[m, t, u] * w_o[d, m, u]),
        symbol="o", label="what each head writes", role="value", derived=True,
    )  # fmt: skip
    written = Sum(m, head_out[m, t, d].with_rounding())
    return at.value("out", (t, d), written, symbol="a", label="output of the token mixer", role="pattern")


def _heads(mixer: DeltaNet, config: ModelConfig, at: Scope) -> Index:
    return at.index("H", "h") if mixer.n_values == config.n_heads else at.index("M", "m")


def _of_head(at: Scope, name: str, symbol: str, x: Vector, m: Index) -> Expression:
    t, d = at.index("T"), at.index("D")
    return Sum(d, x[t, d] * at.weight(f"{name}.weight", symbol, m.axis, "D")[m, d])


def _projected(mixer: DeltaNet, at: Scope, x: Vector, n: Index, letter: str, label: str, role: Role) -> Value:
    t, d, w, last = at.index("T"), at.index("D"), at.index("W", "w"), mixer.kernel - 1
    axis = "U" if letter == "v" else "K"
    c = at.index(axis, "c")
    matrix = at.weight(f"{letter}.weight", f"W^{letter.upper()}", (n.axis, axis), "D")
    value = at.value(
        _NAMES[letter], (n, t, c), Sum(d, x[t, d] * matrix[n, c, d]),
        symbol=letter, label=label, role=role,
    )  # fmt: skip
    kernel = at.weight(f"{letter}_conv", f"c^{letter.upper()}", (n.axis, axis), "W")
    total = Sum(w, kernel[n, c, w] * where(t + w >= last, value[n, t + w - last, c], 0))
    return at.value(
        f"{_NAMES[letter]}_conv", (n, t, c), activated("silu", total),
        symbol=rf"\bar{{{letter}}}", label=f"{label}, convolved over positions", role=role,
    )  # fmt: skip


def _unit(at: Scope, x: Value, letter: str, times: float) -> Value:
    n, t, c, other = at.index("J", "n"), at.index("T"), at.index("K", "c"), at.index("K", "c'")
    length = sqrt(Sum(other, x[n, t, other] ** 2) + Setting(r"\varepsilon", EPS, "config"))
    made: Expression = x[n, t, c] / length
    if times != 1:
        made = made / Setting(r"\sqrt{d_k}", 1 / times, "size", f"{at.sizes['K']}**0.5")
    label = {"q": "queries", "k": "keys"}[letter]
    return at.value(
        f"{_NAMES[letter]}_unit", (n, t, c), made,
        symbol=rf"\hat{{{letter}}}", label=f"{label} of length 1", role="query" if letter == "q" else "key",
        derived=True,
    )  # fmt: skip
