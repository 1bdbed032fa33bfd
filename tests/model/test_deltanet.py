"""viz_model.model.deltanet: two ways to the same reads and states, and what a new one keeps of a text."""

from __future__ import annotations

import pytest
import torch
from tiny_models import random_model, tiny_config
from torch import Tensor
from torch.nn import functional as F

from viz_model.config import Attending, DeltaNet
from viz_model.model import deltanet
from viz_model.model.deltanet import in_chunks, token_by_token
from viz_model.model.tap import Tap

Values = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def given(length: int) -> Values:
    """Queries, keys, values, β, log α and a state to begin from, with gradients: [2, 3, T, 5 or 7] and so on."""
    torch.manual_seed(length)
    q, k = (F.normalize(torch.randn(2, 3, length, 5), dim=-1) for _ in "qk")
    v, beta, fall = torch.randn(2, 3, length, 7), torch.rand(2, 3, length), -3 * torch.rand(2, 3, length)
    values = q, k, v, beta, fall, torch.randn(2, 3, 5, 7)
    for x in values:
        x.requires_grad_()
    return values


def by_loop(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, fall: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    states = token_by_token(k, v, beta, fall.exp(), state)
    return torch.einsum("bmtk,bmtku->bmtu", q, states), states[..., -1, :, :]


@pytest.mark.parametrize(("length", "size"), [(2, 32), (32, 32), (33, 32), (130, 32), (50, 7), (5, 1)])
def test_chunks_read_and_learn_what_the_loop_does(length: int, size: int) -> None:
    values = given(length)
    one, other = by_loop(*values), in_chunks(*values, size=size)
    weights = [torch.randn_like(x) for x in one]
    gradients = []
    for found in (one, other):
        total = torch.stack([(x * w).sum() for x, w in zip(found, weights, strict=True)]).sum()
        gradients.append(torch.autograd.grad(total, values))
    for mine, theirs in zip((*one, *gradients[0]), (*other, *gradients[1]), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


def test_a_strong_decay_does_not_underflow() -> None:
    q, k, v, beta, _, state = given(64)
    fall = torch.full((2, 3, 64), -20.0)  # its products are 0 in single precision after five tokens
    for mine, theirs in zip(by_loop(q, k, v, beta, fall, state), in_chunks(q, k, v, beta, fall, state), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


class Watching:
    """A tap that changes nothing, and so has every state formed."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def at(self, prefix: str) -> Tap:
        return self

    def changes(self, name: str) -> bool:
        return False


@pytest.mark.parametrize("padded", [False, True])
def test_a_run_that_nobody_watches_ends_as_one_that_is_watched(padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    mixer = DeltaNet(n_keys=2, n_values=4, d_key=5, d_value=6, kernel=3)
    model = random_model(tiny_config(mixers=(mixer, Attending()), n_context=64))
    ids = torch.arange(2 * 40).view(2, 40) % model.config.n_vocab
    padding = torch.zeros(2, 40, dtype=torch.bool)
    padding[1, 30:] = padded
    watched = model(ids, padding=padding, tap=Watching())
    calls = []
    monkeypatch.setattr(deltanet, "token_by_token", lambda *_: calls.append("token by token"))
    alone = model(ids, padding=padding)
    assert not calls
    torch.testing.assert_close(alone[~padding], watched[~padding], atol=1e-5, rtol=1e-5)


def test_half_precision_is_read_in_chunks_too() -> None:
    model = random_model(tiny_config(mixers=(DeltaNet(n_values=4), Attending()), n_context=64))
    ids = torch.arange(40)[None] % model.config.n_vocab
    single, half = model(ids), model.to(torch.bfloat16)(ids)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), single, atol=0.1, rtol=0.1)
