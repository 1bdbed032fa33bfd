"""Experts as files hold them: a router, and three matrices under a number for each expert."""

from __future__ import annotations

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, Share, rename
from viz_model.config import Experts, ModelConfig

NO_EFFECT = ("output_router_logits", "router_aux_loss_coef", "router_jitter_noise")
"""Of training, which alone adds noise and a loss to the router."""


def number(a: Attributes, default: int) -> int:
    """How many experts there are: files call it by two names."""
    name = "num_local_experts" if "num_local_experts" in a else "num_experts"
    return a.size(name, default)


def renames(config: ModelConfig, router: str, experts: str, names: tuple[str, str, str]) -> list[Rename]:
    """The rows of a router and of its experts.

    Args:
        router: the name of its weight, with ``{layer}``.
        experts: what stands before the number of an expert.
        names: of gate, up and down behind that number.
    """
    ours = "decoder.blocks.{layer}.ffn."
    found = [rename(router, f"{ours}router.weight")]
    numbers = {ffn.n_experts for ffn in (config.ffn, *config.ffns) if isinstance(ffn, Experts)}
    for part, name in zip(("gate", "up", "down"), names, strict=True):
        for n in numbers:
            shares = [Share(e, n, 1 if part == "down" else 0) for e in range(n)]
            found += [rename(f"{experts}{s.number}.{name}.weight", f"{ours}{part}.weight", share=s) for s in shares]
    return found
