"""Why no recurrence: steps that wait for each other, and how far news travels."""

from collections.abc import Iterator

import numpy as np

from viz_model.drawing.digits import big
from viz_model.drawing.tables import Among, Phrase, by
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import table
from viz_model.topics.cost.counted import hops, of_block, recurrent


def draw(look: Look) -> Iterator[Line]:
    """A table of both kinds of layer, of the selected one."""
    config, side, n, words = look.config, look.trace.stack.side, len(look), look.words
    ways = [hops(n, config.window(side, layer)) for layer in range(look.n_layers)]
    blocks = [of_block(config, side, layer, n) for layer in range(look.n_layers)]
    paths = [words("unreachable") if way is None else str(way) for way in ways]
    work = [big(one.projections + one.pairs) for one in blocks]
    rows = [
        (words("waits"), str(n), "1"),
        (words("path"), str(n - 1), "{{path}}"),
        (words("layer_cost"), big(recurrent(config, n)), "{{work}}"),
    ]
    made = table([f"T = {n:,}", words("recurrent"), words("attention")], rows)
    yield Line(Phrase(made, {"path": by("layer", paths), "work": by("layer", work)}))


def tell(look: Look) -> Iterator[Line]:
    n, side = len(look), look.trace.stack.side
    if n == 1:
        yield look.text("waiting_one")
        return
    yield look.text("waiting", n=n, depth=look.n_layers)
    windows = [look.config.window(side, layer) for layer in range(look.n_layers)]
    said = [look.text("waiting_window" if one else "waiting_path", n=n, window=one).words for one in windows]
    yield Line(Among(said, by("layer", np.arange(look.n_layers))) if len(set(said)) > 1 else said[0])
