"""What is read, by many heads: values, their weighted sum, and what all heads do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from viz_model.island.beats import Beat, Box, Cells, Chapter, Mark, Text, ends
from viz_model.island.look import Look
from viz_model.measures import heads
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters import scores
from viz_model.topics.walk.layout import NAMES
from viz_model.topics.walk.run import MOST_MAP, Run

N, TOP, MOST_HEADS = 5, 40, 48


def chapter(run: Run) -> Chapter:
    look, config = run.look, run.trace.config
    values = {"q": run.named(), "layer": look.layer, "n": config.n_heads, "d": config.d_model}
    values["shared"] = config.n_heads // config.n_kv_heads
    carries = "_states" if config.has_states else "_cross" if config.kind == "encoder_decoder" else ""
    has = "_one" if config.n_heads == 1 else "_shared" if config.n_kv_heads < config.n_heads else ""
    every = shown(run)
    beats = [
        run.says("heads_1", "value matrix", **values),
        run.says("heads_2", "share value mixed", **values),
        run.says(f"heads_3{carries}", "mixed written stream matrix", **values),
        run.says(f"heads_4{has}", "", **values),
        _all(run, every),
    ]
    marks = [*_values(run), *_maps(run, every)]
    return Chapter("heads", look.words("title_heads"), beats, marks, ("attention", look.words("closer_attention")))


def shown(run: Run) -> list[int]:
    """The layers whose heads have a map: all that attend, or those of them around this one."""
    n_heads, layer, count = run.trace.config.n_heads, run.look.layer, run.trace.n_layers
    most = max(1, MOST_HEADS // n_heads)
    first = max(0, min(layer - most // 2, count - most))
    around = range(first, min(count, first + most))
    return [layer for layer in around if f"blocks.{layer}.attn.pattern" in run.trace]


def _summaries(look: Look, layer: int) -> tuple[heads.HeadSummary, ...]:
    return heads.of_layer(look.trace, layer)


KINDS = ("previous", "first", "itself", "next", "broad")


def _all(run: Run, every: list[int]) -> Beat:
    """What heads do on this text, as it was measured: one of each of two kinds, where there are such."""
    look, found = run.look, dict[str, tuple[int, int]]()
    for layer in every:
        for head, summary in enumerate(look.once(partial(_summaries, layer=layer), ("walk heads", layer))):
            found.setdefault(heads.HEAD.of(summary).name, (layer, head))
    named = [(kind, *found[kind]) for kind in KINDS if kind in found][:2]
    n = len(every) * run.trace.config.n_heads
    said = [run.look.words(f"does_{kind}", layer=layer, head=head) for kind, layer, head in named]
    key = "heads_5" if said else "heads_5_only" if set(found) == {"alone"} else "heads_5_plain"
    return run.says(key, n=n, does=run.look.words("does_joint").join(said))


def _values(run: Run) -> Iterator[Mark]:
    look, rows = run.look, run.shown
    count = rows.shape[1]
    high = layout.pitch(count, TOP, 300)
    v, weight, z = run.head("v"), run.rows(run.pattern), run.head("z")
    top = layout.most(v)
    here: dict[str, Any] = {"until": 4}
    strip: dict[str, Any] = {"x": NAMES + 66, "width": (0.62, -NAMES - 70)}
    w_v = scores.matrix(run, "v")
    yield Text(text=look.words("values"), x=NAMES + 66, y=TOP - 16, until=3, part="value")
    yield Text(
        text=look.words("matrix_v", rows=w_v.shape[0], columns=w_v.shape[1]),
        x=(0.68, 0),
        y=TOP - 16,
        until=2,
        part="matrix",
    )
    yield Cells(
        values=w_v, top=layout.most(w_v) / 2, x=(0.68, 0), width=(0.3, 0), y=TOP, height=256, until=2, part="matrix"
    )
    yield Text(
        text=look.words("weights"), x=NAMES + 58, y=TOP - 16, anchor="end", since=2, until=3, part="share", look="small"
    )
    for n in range(count):
        y, when = TOP + high * n, layout.turn(n, count)
        yield layout.name(run.label(rows[:, n]), y + high / 2, when=when, until=3)
        yield Text(
            text=run.by("token", weight[:, n]),
            form="share",
            x=NAMES + 58,
            y=y + high / 2,
            anchor="end",
            since=2,
            until=3,
            part="share",
            when=when,
        )
        yield Cells(
            values=run.by("token", v[rows[:, n]][:, None]),
            top=top,
            y=y + 3,
            height=high - 7,
            until=3,
            part="value",
            when=when,
            **strip,
        )
        scaled = (weight[:, n, None] * v[rows[:, n]])[:, None]
        yield Cells(
            values=run.by("token", scaled),
            top=top,
            x=(0.66, 0),
            width=(0.34, 0),
            y=y + 3,
            height=high - 7,
            since=2,
            until=3,
            part="value",
            when=when,
        )
    rest = 1 - weight.sum(-1)
    if len(run) > count:
        yield Text(
            text=look.words("others_weigh", n=len(run) - count, share=run.by("token", rest, "share")),
            x=0,
            y=TOP + high * count + 12,
            until=3,
            since=2,
            look="small",
        )
    yield Text(text=look.words("scaled_values"), x=(0.66, 0), y=TOP - 16, since=2, until=3, part="value")
    yield Text(text=look.words("read"), x=0, y=ends(N, (0, 360), (3, 60)), since=2, part="mixed", look="bold", **here)
    yield Cells(
        values=run.by("token", z[:, None]),
        top=layout.most(z),
        x=ends(N, (0, (0.66, 0)), (3, (0.0, NAMES))),
        width=ends(N, (0, (0.34, 0)), (3, (0.34, 0))),
        y=ends(N, (0, 346), (3, 46)),
        height=28,
        since=2,
        part="mixed",
        when=(0.5, 1),
        **here,
    )
    written, before = _written(run)
    w_o = run.trace.stack.block(look.layer).attn.o.weight.detach().numpy()
    d = z.shape[-1]
    own = w_o[:, look.head * d : (look.head + 1) * d].T
    third: dict[str, Any] = {"since": 3, "until": 4}
    yield Text(text=look.words("matrix_o", rows=own.shape[0], columns=own.shape[1]), x=0, y=100, part="matrix", **third)
    yield Cells(values=own, top=layout.most(own) / 2, x=0, y=112, width=(1, 0), height=90, part="matrix", **third)
    for name, values, y, part in (
        ("writes", written, 236, "written"),
        ("stream_before", before, 304, "stream"),
        ("stream_after", before + written, 372, "sum"),
    ):
        most = layout.most(before) / 2 if name != "writes" else layout.most(written)
        yield Text(text=look.words(name, q=run.label(range(len(run)))), x=0, y=y - 14, part=part, **third)
        yield Cells(
            values=run.by("token", values[:, None]),
            top=most,
            x=0,
            y=y,
            width=(1, 0),
            height=26,
            part=part,
            when=(0.3, 1),
            **third,
        )


def _written(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """What the head writes, and the stream that it is added to: [T, D] each."""
    z, d = run.head("z"), run.head("z").shape[-1]
    weight = run.trace.stack.block(run.look.layer).attn.o.weight.detach().numpy()
    before = run.trace[f"blocks.{run.look.layer}.resid.in"].numpy()
    return (z @ weight[:, run.look.head * d : (run.look.head + 1) * d].T).astype(np.float32), before


def _maps(run: Run, every: list[int]) -> Iterator[Mark]:
    """The weights of each head as a map: a row a query, a column a key."""
    look, trace = run.look, run.trace
    stop = min(len(run), max(MOST_MAP, look.token + 1))
    part = slice(max(0, stop - MOST_MAP), stop)
    n_heads = trace.config.n_heads
    own: dict[str, Any] = {"since": 4, "until": 5}
    size = min(230.0, 760 / min(n_heads, 4) - 16, 190.0 if n_heads > 4 else 230.0)
    across = min(n_heads, 4 if size > 150 else 6)
    lines = -(-n_heads // across)
    size = min(size, (layout.HEIGHT - 40) / lines - 28)
    for head in range(n_heads):
        weights = trace.head(f"blocks.{look.layer}.attn.pattern", head).numpy()[part, part]
        x, y = (head % across) / across, 40 + (size + 28) * (head // across)
        yield from _map(run, look.layer, head, weights, (x, 0), y, size, own)
    yield Text(text=look.words("heads_of", layer=look.layer), x=0, y=6, look="small", **own)
    tall = min((layout.HEIGHT - 24) / len(every) - 6, 760 / n_heads - 8)
    for row, layer in enumerate(every):
        for head in range(n_heads):
            weights = trace.head(f"blocks.{layer}.attn.pattern", head).numpy()[part, part]
            left = (0.08 + 0.92 * head / n_heads, 0)
            y = 24 + (tall + 6) * row
            yield from _map(run, layer, head, weights, left, y, tall, {"since": 5}, label=head == 0)


def _map(
    run: Run,
    layer: int,
    head: int,
    weights: np.ndarray,
    x: Any,
    y: float,
    size: float,
    there: dict[str, Any],
    label: bool = True,
) -> Iterator[Mark]:
    look = run.look
    name = look.words("head_name", layer=layer, head=head)
    if there["since"] == 4:
        yield Text(text=look.words("head", n=head), x=x, y=y - 10, look="small", **there)
    elif label:
        yield Text(text=look.words("block_short", n=layer), x=0, y=y + size / 2, look="small", **there)
    yield Cells(
        values=weights,
        look="single",
        x=x,
        y=y,
        width=(size / 760, 0),
        height="square",
        act={"layer": layer, "head": head},
        label=name,
        **there,
    )
    if (layer, head) == (look.layer, look.head):
        yield Box(
            look="frame", x=(x[0], x[1] - 2), y=y - 2, width=(size / 760, 4), height="square", part="chosen", **there
        )
