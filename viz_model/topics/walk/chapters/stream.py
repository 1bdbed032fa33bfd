"""The residual stream: one vector a token, to which every block adds; and what each part of a block reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from viz_model.config import LayerNorm, RMSNorm
from viz_model.island.beats import Beat, Box, Chapter, Mark, Text
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import Run

TOP, FEW, MOST_DEPTHS = 60, 24, 6
PLACES = {"pre": "pre", "both": "pre", "post": "post", "branch": "branch"}
"""What the first norm of a block rescales, by where the norms stand."""


def depths(run: Run) -> tuple[int, ...]:
    """Depths at even distances: 0 is before any block; of few blocks all."""
    count = run.trace.n_layers
    if count <= MOST_DEPTHS:
        return tuple(range(count + 1))
    return (0, *(1 + round(n * (count - 1) / (MOST_DEPTHS - 1)) for n in range(MOST_DEPTHS)))


def chapter(run: Run) -> Chapter:
    look, config = run.look, run.trace.config
    place = run.trace.norm_at
    values = {"d": config.d_model, "n": run.trace.n_layers, "token": run.named()}
    values["states"] = sum(f"blocks.{n}.attn.state" in run.trace for n in range(run.trace.n_layers))
    second = "_cross" if "blocks.0.cross.pattern" in run.trace else "_states" if values["states"] else ""
    first = "stream_1"
    if config.projects_embedding:
        first, values["e"] = "stream_1_shared" if config.shared_blocks else "stream_1_narrow", config.d_embedding
    beats: list[Beat] = [
        run.says(first, "stream", **values),
        run.says(f"stream_2{second}", "attn ffn cross", **values),
    ]
    normed = norm(run) if config.residual or place != "post" else None  # there is no sum to rescale
    if normed is not None:
        one, kind, learned = normed
        numbers = {name: run.by("token", value, "2") for name, value in one.items() if value.ndim == 1}
        beats.append(run.says(f"stream_3_{kind}_{PLACES[place]}", "stream normed", **values, **numbers))
        if learned:
            beats.append(run.says(f"stream_4_{kind}", "learned", **values))
    marks = [*_flow(run), *_block(run), *_norm(run, normed)]
    return Chapter("stream", look.words("title_stream"), beats, marks, ("block", look.words("closer_stream")))


def norm(run: Run) -> tuple[dict[str, np.ndarray], str, bool] | None:
    """What the norm at the attention of the block does to each token's vector: its mean and spread, the vector [T, D]
    as it comes, rescaled and as it leaves; "layer" or "rms"; and whether it has learned factors. None where there is
    none.
    """
    trace, layer = run.trace, run.look.layer
    name, kinds = f"blocks.{layer}.attn.norm.out", {LayerNorm: "layer", RMSNorm: "rms"}
    kind = kinds.get(type(trace.config.norm))
    if kind is None or name not in trace:
        return None
    line = torch.stack([trace.norm_input(f"blocks.{layer}.attn.norm", n) for n in range(len(trace))])
    mean = line.mean(-1) if kind == "layer" else torch.zeros(len(line))
    spread = (line - mean[:, None]).square().mean(-1).sqrt()
    out = trace[name]
    rescaled = (line - mean[:, None]) / spread[:, None].clamp(min=1e-9)
    found = {"line": line, "mean": mean, "spread": spread, "rescaled": rescaled, "out": out}
    learned = not torch.allclose(rescaled, out, atol=1e-3)
    return {name: value.numpy() for name, value in found.items()}, kind, learned


def _flow(run: Run) -> Iterator[Mark]:
    """Some numbers of each token before the first block and after each."""
    trace, passed, at = run.trace, depths(run), list(run.window)
    every = max(1, trace.config.d_model // FEW)
    sites = ["embed.out" if depth == 0 else f"blocks.{depth - 1}.resid.out" for depth in passed]
    values = np.stack([trace[site][at, ::every][:, :FEW].numpy() for site in sites])
    high, width = layout.pitch(len(at), TOP), 1 / len(passed)
    for n, depth in enumerate(passed):
        x, middle = (layout.beside_names(width * share) for share in (n, n + 0.4))
        label = run.look.words("input") if depth == 0 else run.look.words("block_short", n=depth - 1)
        when = (0.8 * n / len(passed), 0.8 * n / len(passed) + 0.2)
        since = 0 if n == 0 else 1
        yield Text(text=label, x=middle, y=TOP - 18, anchor="middle", since=since, until=2, when=when, look="small")
        for row in range(len(at)):
            wide = (0.8 * width, -0.8 * width * layout.NAMES)
            yield layout.strip(
                values[n, row],
                x,
                TOP + high * row + 3,
                wide,
                high - 7,
                layout.most(values[n]),
                since=since,
                until=2,
                when=when,
                part="stream",
            )
    yield from layout.rows(run, TOP, high, until=2)


def _block(run: Run) -> Iterator[Mark]:
    """One block, drawn out: the stream, and beside it the parts that read it and add to it."""
    look = run.look
    parts = ["attn", "cross", "ffn"] if "blocks.0.cross.pattern" in run.trace else ["attn", "ffn"]
    there: dict[str, Any] = {"since": 2, "until": 3}
    yield Text(text=look.words("block", n=look.layer), x=(0.5, 0), y=30, anchor="middle", look="bold", **there)
    yield Box(look="frame", x=(0.08, 0), y=50, width=(0.84, 0), height=330, part="frame", **there)
    yield Box(x=0, y=310, width=(1, 0), height=8, part="stream", **there)
    yield Text(text=look.words("stream_line"), x=(0.5, 0), y=340, anchor="middle", part="stream", **there)
    wide = 0.84 / len(parts)
    for n, part in enumerate(parts):
        x, when = 0.08 + wide * n, (0.4 * n, 0.4 * n + 0.4)
        middle = (x + wide / 2, 0)
        yield Box(
            x=(x + wide * 0.14, 0),
            y=110,
            width=(wide * 0.72, 0),
            height=96,
            look="frame",
            part=part,
            when=when,
            **there,
        )
        yield Text(
            text=look.words(f"part_{part}"),
            x=middle,
            y=146,
            anchor="middle",
            look="bold",
            part=part,
            when=when,
            **there,
        )
        yield Text(
            text=look.words(f"does_{part}"),
            x=middle,
            y=176,
            anchor="middle",
            look="small",
            part=part,
            when=when,
            **there,
        )
        for left, sign in ((x + wide * 0.2, "↑"), (x + wide * 0.8, "↓ +")):
            yield Box(x=(left, 0), y=206, width=3, height=104, part=part, when=when, **there)
            yield Text(text=sign, x=(left, 10), y=258, part=part, when=when, **there)


def _norm(run: Run, normed: tuple[dict[str, np.ndarray], str, bool] | None) -> Iterator[Mark]:
    if normed is None:
        return
    one, kind, learned = normed
    look, top = run.look, max(3.0, layout.most(one["out"]) / 2)
    rows = [("line", 60, 3, "stream"), ("rescaled", 180, 3, "normed")] + (
        [("out", 300, 4, "learned")] if learned else []
    )
    for name, y, since, part in rows:
        values = one[name]
        own = layout.most(one["line"]) / 2 if name == "line" else top
        yield Text(text=look.words(f"norm_{name}"), x=0, y=y - 16, since=since, part=part)
        yield layout.strip(run.by("token", values[:, None]), 0, y, (1, 0), 34, own, since=since, part=part)
        mean, spread = values.mean(-1), values.std(-1) if kind == "layer" else np.sqrt((values**2).mean(-1))
        said = look.words(f"norm_{kind}_sizes", mean=run.by("token", mean, "2"), spread=run.by("token", spread, "2"))
        yield Text(text=said, x=(1, -2), y=y - 16, anchor="end", since=since, part=part)
    yield Text(text=run.label(range(len(run))), x=0, y=18, since=3, look="bold")
