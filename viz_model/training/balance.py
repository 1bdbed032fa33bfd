"""The auxiliary loss that keeps a router from sending all tokens to a few experts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from viz_model.model.feedforward import Experts, is_top


def balance(router: Tensor, top_k: int) -> Tensor:
    """E · Σ_e f_e·P_e of a layer's router logits [.., E] (Fedus et al. 2022, equations 4 to 6).

    f_e is the share of all choices that fell on expert e, P_e its mean probability. 1 where all experts get alike,
    E/k where k of them get everything. Only P has a gradient.
    """
    probs = router.flatten(0, -2).softmax(-1)
    shares = is_top(probs.detach(), top_k).float().mean(0) / top_k
    return router.shape[-1] * (shares * probs.mean(0)).sum()


class Balances(list[Tensor]):
    """The balance of every layer with experts that ran while it was watched."""

    def mean(self) -> Tensor | None:
        """Over layers; None where there are no experts."""
        return torch.stack(list(self)).mean() if self else None


@contextlib.contextmanager
def watched(model: nn.Module) -> Iterator[Balances]:
    """Gathers the balance of the routers that run in here. Padding is routed like everything else."""
    found = Balances()
    hooks = [
        layer.router.register_forward_hook(lambda _, __, logits, k=layer.ffn.top_k: found.append(balance(logits, k)))
        for layer in model.modules()
        if isinstance(layer, Experts)
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
