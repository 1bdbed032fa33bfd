"""What a model reported of a run that is not recomputed here: which values, and how long its hidden states are."""

import numpy as np

from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look


def states(look: Look) -> list[str]:
    """The hidden states that were reported, from the bottom up."""
    last = look.n_layers - 1
    names = ["embed.out", *(f"blocks.{n}.resid.out" for n in range(last))]
    names.append(next((name for name in ("final.norm.out", f"blocks.{last}.resid.out") if name in look.trace), ""))
    return [name for name in names if name in look.trace]


def draw(look: Look) -> Scene | None:
    """A row a token, a column a hidden state; a cell is the length ‖x‖₂ of the vector."""
    names = states(look)
    if not names:
        return None
    found = np.stack([look.trace[name].norm(dim=-1).numpy() for name in names], axis=1)  # [T, L + 1]
    columns = [_named(look, name, n) for n, name in enumerate(names)]
    scene = matrix.scene(
        "overview.observed",
        look.words("observed_alt"),
        found,
        look.labels,
        columns,
        axes=(look.common("axis_token"), look.words("observed_depth")),
        top=float(found.max()) or 1.0,
        look="share",
    )
    return look.drawn(scene, names)


def _named(look: Look, name: str, n: int) -> str:
    if name == "embed.out":
        return look.words("observed_embedding")
    return look.words("observed_normed") if name == "final.norm.out" else look.words("observed_block", layer=n - 1)
