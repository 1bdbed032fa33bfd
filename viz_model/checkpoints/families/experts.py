"""Experts as files hold them: a router, and three matrices under a number for each expert."""

from collections.abc import Sequence

from viz_model.checkpoints.families.attributes import Attributes
from viz_model.checkpoints.renames import Rename, Share, rename
from viz_model.config import Experts, ModelConfig

NO_EFFECT = ("output_router_logits", "router_aux_loss_coef", "router_jitter_noise")
"""Of training, which alone adds noise and a loss to the router."""


PARTS, NAMED = ("gate", "up", "down"), ("gate_proj", "up_proj", "down_proj")
OURS = "decoder.blocks.{layer}.ffn."


def number(a: Attributes, default: int) -> int:
    """How many experts there are: files call it by two names."""
    name = "num_local_experts" if "num_local_experts" in a else "num_experts"
    return a.size(name, default)


def renames(config: ModelConfig, within: str = "mlp.", names: Sequence[str] = NAMED) -> list[Rename]:
    """The rows of a router and of its experts.

    Args:
        within: what stands before both in the names of a layer.
        names: of gate, up and down behind the number of an expert.
    """
    theirs = f"[model.]layers.{{layer}}.{within}"
    found = [rename(f"{theirs}gate.weight", f"{OURS}router.weight")]
    numbers = {ffn.n_experts for ffn in (config.ffn, *config.ffns) if isinstance(ffn, Experts)}
    for part, name in zip(PARTS, names, strict=True):
        for n in numbers:
            shares = [Share(e, n, 1 if part == "down" else 0) for e in range(n)]
            found += [
                rename(f"{theirs}experts.{s.number}.{name}.weight", f"{OURS}{part}.weight", share=s) for s in shares
            ]
    return found


def shared(theirs: str) -> list[Rename]:
    """The rows of an expert that every token meets."""
    return [rename(f"{theirs}.{x}_proj.weight", f"{OURS}shared.{x}.weight") for x in PARTS]
