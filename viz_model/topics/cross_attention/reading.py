"""A table: each target token, and the source token that it reads most, by head, layer and model."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.tables import Among, Phrase
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal
from viz_model.topics.cross_attention.weights import facts


class Reading(NamedTuple):
    """The source position that each target position reads most, and its weight.

    By one head [L, H, Tq], by the average over the heads of one layer [L, Tq], and by that over all heads of all
    layers [Tq].
    """

    head: tuple[np.ndarray, np.ndarray]
    layer: tuple[np.ndarray, np.ndarray]
    model: tuple[np.ndarray, np.ndarray]


AXES = {"head": "layer head query", "layer": "layer query", "model": "query"}


def reading(look: Look) -> Reading:
    own = look.every("cross.pattern")
    every = np.mean([look.trace[look.site("cross.pattern", n)].numpy().mean(0) for n in range(look.n_layers)], axis=0)
    return Reading(*((one.argmax(-1), one.max(-1)) for one in (own, own.mean(1), every)))


def tell(look: Look) -> Iterator[Line]:
    known = facts(look)
    yield look.title("reading_title", **known)
    yield look.text("reading", **known)
    found, source = look.once(reading)._asdict(), query.key_names(look, "cross")
    is_code = not look.config.reads_pictures
    head = [look.words("axis_target")]
    values: dict[str, Any] = {}
    for which in found:
        values[f"by_{which}"] = look.words(f"by_{which}", layer=look.layer_number, head=look.head_number)
        head += [f"{{{{by_{which}}}}}", look.words("weight")]
    rows = [f"| {' | '.join(head)} |", "|:-" * len(head) + "|"]
    for n, token in enumerate(look.labels):
        cells = [literal(token).replace("|", r"\|")]
        for which, (positions, shares) in found.items():
            axes = AXES[which]
            values[f"{which}_{n}"] = Among(source, look.by(axes, positions, query=n), is_code=is_code)
            values[f"{which}_share_{n}"] = look.by(axes, shares, "percent", query=n)
            cells += [f"{{{{{which}_{n}}}}}", f"{{{{{which}_share_{n}}}}}"]
        rows.append(f"| {' | '.join(cells)} |")
    yield Line(Phrase("\n".join(rows), values))
