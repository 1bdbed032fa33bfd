"""What cross-attention adds to the stream of the selected target token, and how much of it each head writes."""

from typing import Any

import numpy as np

from viz_model.drawing import chart, strips
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import Phrase
from viz_model.island.look import Look

SITES = ("resid.mid", "cross.head_out", "cross.out", "resid.cross")
MOST_NUMBERS = 50_000
"""Of the vectors of all layers that are held together; of more, another layer is another message."""


def vectors(look: Look) -> dict[str, np.ndarray]:
    """The stream before, what is added, and the stream after, each [L, Tq, D]; under Post-LN a norm follows the sum."""
    before, out, after = (look.every(name) for name in ("resid.mid", "cross.out", "resid.cross"))
    if look.trace.norm_at == "pre":
        return {"before": before, "out": out, "after": after}
    return {"before": before, "out": out, "sum": before + out, "after_norm": after}


def draw(look: Look) -> Scene:
    """The vectors on one scale, each with its length behind it."""
    if look.n_layers * len(look) * look.config.d_model * len(SITES) > MOST_NUMBERS:
        look = look.narrow
    found, words = look.once(vectors), look.words
    sites = {"before": "resid.mid", "out": "cross.out", "after": "resid.cross", "after_norm": "resid.cross"}
    top = np.max([np.abs(values).max(-1) for values in found.values()], axis=0)
    top = np.where(top > 0, top, 1.0).astype(np.float32)
    drawn = []
    for name, values in found.items():
        length = look.by("layer token", np.linalg.norm(values, axis=-1), "2")
        behind = Phrase(f"{words('sum_length')} {{{{length}}}}", {"length": length})
        where = look.cells(sites[name], ("token", COLUMN)) if name in sites else None
        full: Any = look.by("layer token", top)
        cells = look.by("layer token", values)
        drawn.append(Strip(words(f"sum_{name}"), cells, top=full, cells=where, behind=behind))
    columns = tuple(map(str, range(look.config.d_model)))
    view = StripsView(tuple(drawn), columns, 56 + 50 * len(drawn), column_axis=look.common("axis_dimension"))
    scene = strips.scene(view, "cross_attention.sum", words("sum_alt"), {"masked": look.common("masked")})
    return look.drawn(scene, SITES)


def lengths(look: Look) -> np.ndarray:
    """Of what each head writes into the stream of each target token: [L, Tq, H]."""
    return np.asarray(np.linalg.norm(look.every("cross.head_out"), axis=-1).swapaxes(1, 2))


def heads(look: Look) -> Scene:
    """A bar a head; that of the selected one is framed."""
    found = look.by("layer token", look.once(lengths))
    names = [str(head) for head in range(look.n_heads)]
    told = f"{look.words('sum_head')} {{{{name}}}}: {{{{value}}}}"
    series = chart.Bars("", found, "value", told=told, write="4", outside=False)
    scale = chart.axis(found, title=look.words("sum_length"))
    own, axis = look.by("head", np.arange(look.n_heads)), look.words("sum_head")
    title = look.words("heads_alt")
    scene = chart.bars("cross_attention.heads", title, names, [series], scale, chosen=own, names_axis=axis)
    return look.drawn(scene, ["cross.head_out"])
