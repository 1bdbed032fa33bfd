"""Feed-forward: a network that works on each token alone, and what one of its neurons does on this text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from viz_model.island.beats import Beat, Box, Cells, Chapter, Mark, Text
from viz_model.measures import neurons
from viz_model.model.sites import n_neurons
from viz_model.topics.walk import layout
from viz_model.topics.walk.run import Run

COLUMNS = 48
_BYTE = re.compile("[0-9A-F]{2}")


def chapter(run: Run) -> Chapter:
    look, trace, config = run.look, run.trace, run.trace.config
    count = n_neurons(config, trace.stack.side, look.layer)
    at = f"blocks.{look.layer}.ffn."
    has = bool(count) and f"{at}act" in trace
    beats, marks, last = list[Beat](), list[Mark](), 1
    values: dict[str, Any] = {"n": f"{count:,}", "d": config.d_model, "token": run.named()}
    if has:
        act = trace[f"{at}act"].numpy()
        is_relu = bool((act >= 0).all())
        values["active"] = run.by("token", (act > 0).sum(-1).astype(np.int32), "whole")
        gated = f"{at}gate_act" in trace
        function = getattr(config.layer(trace.stack.side, look.layer).ffn, "activation", "other")
        values["activation"] = look.t(f"block.activation_{function}")
        beats.append(run.says("ffn_1_gated" if gated else "ffn_1" if is_relu else "ffn_1_smooth", "", **values))
        beats.append(run.says("ffn_2" if is_relu else "ffn_2_smooth", "", **values))
        marks += _neurons(run, act, is_relu)
        found = _one(run, act)
        if found is not None:
            beats.append(
                run.says(
                    "ffn_3" if found[2] else "ffn_3_fires", "neuron", neuron=found[0], fires=found[1], pushes=found[2]
                )
            )
            marks += _fires(run, act, found[0])
        last = len(beats) + 1
    else:
        beats.append(
            run.says(
                "ffn_experts" if "experts" in config.ffn.__class__.__name__.lower() or not count else "ffn_1",
                "",
                **values,
            )
        )
        last = 2
    shares = _shares(run)
    key = (
        "ffn_size_most" if shares["ffn"] > shares["attn"] and shares.get("embedding", 0) > shares["ffn"] else "ffn_size"
    )
    beats.append(run.says(key, "", **values, share=f"{shares['ffn'] / (shares['ffn'] + shares['attn']):.0%}"))
    total = sum(shares.values())
    labels = [look.words(f"weights_{name}") for name in shares]
    marks += layout.bars(
        labels,
        [(layout.lengths(np.array(one / total)), one / total) for one in shares.values()],
        "share",
        110,
        44,
        since=last,
        part="share",
    )
    marks.append(Text(text=look.words("weights_of"), x=0, y=80, since=last))
    return Chapter("ffn", look.words("title_ffn"), beats, marks, ("block", look.words("closer_stream")))


def _shares(run: Run) -> dict[str, int]:
    """Weights of all feed-forward networks, of all attention, and of the embedding table."""
    model = run.trace.model
    sizes = {"ffn": 0, "attn": 0}
    for name, weight in model.named_parameters():
        for part in ("ffn", "attn"):
            if f".{part}." in name:
                sizes[part] += weight.numel()
        sizes["attn"] += weight.numel() if ".cross." in name else 0
    return sizes if run.trace.config.reads_pictures else {**sizes, "embedding": model.embedding.weight.numel()}


def _neurons(run: Run, act: np.ndarray, is_relu: bool) -> Iterator[Mark]:
    look, at = run.look, f"blocks.{run.look.layer}.ffn."
    before = run.trace[f"{at}up"].numpy() if f"{at}up" in run.trace else act
    count = act.shape[-1]
    rows = -(-count // COLUMNS)
    pad = [(0, 0), (0, rows * COLUMNS - count)]
    shape = (len(run), rows, COLUMNS)
    top, there = layout.most(before) / 2, {"x": 0, "y": 60, "width": (1, 0), "height": min(300, 18 * rows), "until": 3}
    yield Text(text=look.words("neurons_of", n=f"{count:,}", token=run.label(range(len(run)))), x=0, y=34, until=3)
    sums = np.pad(before, pad).reshape(shape)
    acts = np.pad(act, pad).reshape(shape)
    yield Cells(values=run.by("token", sums), top=top, **{**there, "until": 2})
    yield Cells(values=run.by("token", acts), top=top, since=2, **there)
    fires = (act > 0).sum(-1).astype(np.int32)
    if is_relu:
        yield Text(
            text=look.words("fire", active=run.by("token", fires, "whole"), n=f"{count:,}"),
            x=0,
            y=392,
            since=2,
            until=3,
            look="bold",
        )


def _one(run: Run, act: np.ndarray) -> tuple[int, str, str] | None:
    """The strongest neuron at the selected token: its number, the tokens on which it fires most, and the tokens that it
    pushes, by their names in prose; None where it fires nowhere.
    """
    look = run.look
    number = int(act[look.token].argmax())
    whole = [token.is_whole for token in run.trace.tokens]
    order = [int(n) for n in np.argsort(-act[:, number]) if act[n, number] > 0 and whole[n]][:3]
    if not order:
        return None
    fires = look.listed(dict.fromkeys(look.code_name(n) for n in order))
    column = run.trace.stack.block(look.layer).ffn.down.weight.detach().T[[number]]
    pushed = neurons.promoted(run.trace, column, 12)[0]
    seen = list(
        dict.fromkeys(
            f"`{name.strip('·')}`" for name, _ in pushed if any(map(str.isalpha, name)) and not _BYTE.fullmatch(name)
        )
    )[:3]
    return number, fires, look.listed(seen)


def _fires(run: Run, act: np.ndarray, number: int) -> Iterator[Mark]:
    look = run.look
    there: dict[str, Any] = {"since": 3, "until": 4}
    top = float(act[:, number].max()) or 1.0
    high = layout.pitch(len(run.window), 60)
    yield Text(text=look.words("neuron", n=number), x=0, y=30, look="bold", **there)
    yield from layout.rows(run, 60, high, **there)
    for n, at in enumerate(run.window):
        value = float(act[at, number])
        y, when = 60 + high * n, layout.turn(n, len(run.window))
        yield Box(
            x=layout.NAMES + 4,
            y=y + 5,
            width=layout.lengths(np.array(max(0.0, value / top)), less=190),
            height=high - 10,
            part="neuron",
            when=when,
            **there,
        )
        yield Text(text=value, form="2", x=(1, -4), y=y + high / 2, anchor="end", when=when, **there)
