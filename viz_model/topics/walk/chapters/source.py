"""Two texts: queries from the text being written, keys and values from the text being read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viz_model.drawing.tables import Among
from viz_model.island import query
from viz_model.island.beats import Box, Chapter, Mark, Text
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import MOST_ROWS, Run

TOP = 60


def chapter(run: Run) -> Chapter | None:
    if "blocks.0.cross.pattern" not in run.trace:
        return None
    weights, layer, head = reads(run)
    values = {"q": run.named(), "layer": layer, "head": head}
    best = weights.argmax(-1)
    is_code = not run.look.config.reads_pictures
    values["most"] = Among(query.key_names(run.look, "cross"), run.by("token", best), is_code=is_code)
    values["share"] = run.by("token", weights.max(-1), "percent")
    beats = [run.says("source_1", "query key", **values), run.says("source_2", "share", **values)]
    marks = list(_marks(run, weights))
    return Chapter(
        "source", run.look.words("title_source"), beats, marks, ("cross_attention", run.look.words("closer_source"))
    )


def reads(run: Run) -> tuple[np.ndarray, int, int]:
    """The head of cross-attention that reads one word of the source most firmly at the selected token: its weights
    [T, S], its layer and its number.
    """
    trace = run.trace
    read = trace.at("encoder")
    words = [n for n, id in enumerate(read.own_ids) if id not in read.own_tokenizer.controls] or list(range(len(read)))
    rows = np.stack(
        [trace.row(f"blocks.{layer}.cross.pattern", run.look.token).numpy() for layer in range(trace.n_layers)]
    )
    layer, head = np.unravel_index(rows[..., words].max(-1).argmax(), rows.shape[:2])
    return trace.head(f"blocks.{layer}.cross.pattern", int(head)).numpy(), int(layer), int(head)


def _marks(run: Run, weights: np.ndarray) -> Iterator[Mark]:
    look, read = run.look, run.trace.at("encoder")
    yield Text(text=look.words("written_text"), x=0, y=TOP - 24, part="query")
    yield Text(text=look.words("read_text"), x=(0.45, 0), y=TOP - 24, part="key")
    high = layout.pitch(len(run.window), TOP)
    yield from layout.rows(run, TOP, high)
    names, shown = query.key_names(look, "cross"), np.arange(min(len(read), MOST_ROWS))
    if look.config.reads_pictures:  # which begins with a blank corner
        shown = np.sort(weights.max(0).argsort()[-MOST_ROWS:])
    high = layout.pitch(len(shown), TOP)
    for row, n in enumerate(shown.tolist()):
        y = TOP + high * row
        yield Text(text=names[n], x=(0.45, 96), y=y + high / 2, anchor="end", part="key")
        width = run.by("token", layout.lengths(weights[:, n], 0.42, 120))
        yield Box(
            x=(0.45, 110),
            y=y + 4,
            width=width,
            height=high - 8,
            since=2,
            part="share",
            when=layout.turn(row, len(shown)),
        )
        yield Text(
            text=run.by("token", weights[:, n]),
            form="percent",
            x=(1, -4),
            y=y + high / 2,
            anchor="end",
            since=2,
            part="share",
        )
