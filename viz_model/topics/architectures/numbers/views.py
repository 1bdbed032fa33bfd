"""What the pictures show, read off models and their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from viz_model.config import Side
from viz_model.drawing.cells import COLUMN, ROW, Cells
from viz_model.drawing.heatmap import HeatmapView
from viz_model.measures import cache_size
from viz_model.runs.language_model import LanguageModel
from viz_model.runs.trace import Trace
from viz_model.topics.architectures.numbers import architectures, parameters
from viz_model.topics.architectures.numbers.references import REFERENCES
from viz_model.topics.architectures.pictures.cache import CacheView
from viz_model.topics.architectures.pictures.compared import ApartView, ChoicesView, ComparedView, DepthView
from viz_model.topics.architectures.pictures.where import ScaleView, WhereView


def choices_view(trace: Trace, position: int, k: int = 6) -> ChoicesView:
    """``trace`` is seen from the stack that predicts, and has logits."""
    found = trace.next_tokens(position, k)
    return ChoicesView(tuple(token.label for token, _ in found), np.array([p for _, p in found]))


def compared_view(
    names: tuple[str, str],
    traces: tuple[Trace, Trace],
    layer: int,
    head: int,
    token: int,
    axes: tuple[str, str],
) -> ComparedView:
    """All of it, looked at in the first run; in the second at the nearest that it has. Both are seen from one stack."""
    places = [(layer, head, token), nearest_place(traces[0], traces[1], layer, head, token)]
    looked = list(zip(traces, places, strict=True))
    choices = [choices_view(trace, place[2]) if "logits" in trace else None for trace, place in looked]
    patterns = [pattern_view(trace, *place[:2], axes) for trace, place in looked]
    return ComparedView(
        names,
        (places[0], places[1]),
        (choices[0], choices[1]),
        (patterns[0], patterns[1]),
        depth_view(names, traces),
        apart_view(traces),
    )


def nearest_place(trace: Trace, other: Trace, layer: int, head: int, token: int) -> tuple[int, int, int]:
    """Layer, head and token of another run that are nearest to those of one."""
    there = architectures.same_place(architectures.written(trace), token, architectures.written(other))
    return min(layer, other.n_layers - 1), min(head, other.config.n_heads - 1), there


def apart_view(traces: tuple[Trace, Trace]) -> ApartView | None:
    """How far the patterns of each head lie apart; None where the runs have not the same heads and positions."""
    first, second = traces
    if (first.n_layers, first.config.n_heads, len(first)) != (second.n_layers, second.config.n_heads, len(second)):
        return None
    names = [f"blocks.{layer}.attn.pattern" for layer in range(first.n_layers)]
    gaps = [(first[name] - second[name]).abs().sum(-1).mean(-1) / 2 for name in names]
    return ApartView(torch.stack(gaps).numpy())


def own_probability(trace: Trace, position: int) -> float:
    """What an encoder gives, at a position, to the token that stands there."""
    return trace.row("logits", position).softmax(-1)[trace.tokens[position].id].item()


def depth_view(names: tuple[str, str], traces: tuple[Trace, Trace]) -> DepthView:
    """Of both models."""
    found = [architectures.depths(trace) for trace in traces]
    share = tuple(np.linspace(0, 1, len(depths.sites)) for depths in found)
    mean = tuple(depths.lengths.mean(1) for depths in found)
    sites = tuple(tuple(map(trace.full_name, depths.sites)) for trace, depths in zip(traces, found, strict=True))
    return DepthView(names, (sites[0], sites[1]), (share[0], share[1]), (mean[0], mean[1]))


class Looked(NamedTuple):
    """The key with the largest weight of one query, and that weight."""

    label: str
    weight: float


def most_looked_at(trace: Trace, layer: int, head: int, token: int) -> Looked:
    weights = architectures.pattern(trace, layer, head)[token]
    key = int(np.nanargmax(weights))
    return Looked(trace.tokens[key].label, float(weights[key]))


MOST_CELLS = 64


def pattern_view(trace: Trace, layer: int, head: int, axes: tuple[str, str]) -> HeatmapView:
    """A head's attention to its own stack; of a long text every cell is the largest of a square."""
    values, labels = architectures.pattern(trace, layer, head), [token.label for token in trace.tokens]
    pool = -(-len(labels) // MOST_CELLS)
    if pool > 1:
        size = -(-len(labels) // pool)
        filled = np.full((size * pool, size * pool), -1.0)
        filled[: len(labels), : len(labels)] = np.nan_to_num(values, nan=-1.0)
        values = filled.reshape(size, pool, size, pool).max(axis=(1, 3))
        values = np.where(values < 0, np.nan, values)
        labels = [f"{labels[i * pool]}…" for i in range(size)]
    return HeatmapView(
        values=values,
        rows=tuple(labels),
        columns=tuple(labels),
        site=trace.full_name(f"blocks.{layer}.attn.pattern") + f"[{head}]",
        role="pattern",
        # Of many tokens hardly one gets a weight near 1, and the picture would be blank.
        scale="probability" if pool == 1 else "positive",
        row_axis=axes[0],
        column_axis=axes[1],
        cells=Cells(f"blocks.{layer}.attn.pattern", (head, ROW, COLUMN)) if pool == 1 else None,
    )


def whole_models(*lms: LanguageModel) -> WhereView:
    """Parameters of whole models: those given, then the published ones."""
    here = [(lm.name, None, True, parameters.count(lm.model)) for lm in lms]
    return _where([*here, *((ref.name, None, False, parameters.of_config(ref.config)) for ref in REFERENCES)])


def scale_view(*lms: LanguageModel) -> ScaleView:
    """Of the models given, then of the published ones."""
    models = [*((lm.name, lm.config) for lm in lms), *((ref.name, ref.config) for ref in REFERENCES)]
    names, configs = zip(*models, strict=True)
    depths = [max(config.depth(side) for side in config.sides) for config in configs]
    sizes = [sum(parameters.of_config(config).values()) for config in configs]
    return ScaleView(names, np.array(depths), np.array(sizes, dtype=np.int64))


def one_block(*lms: LanguageModel, layer: int = 0) -> WhereView:
    """Parameters of one block of every stack: that of the layer, or the last one where there are fewer."""
    models = [(lm.name, lm.config, lm) for lm in lms] + [(ref.name, ref.config, None) for ref in REFERENCES]
    rows: list[_Counted] = []
    for name, config, lm in models:
        for side in config.sides:
            at = min(layer, config.depth(side) - 1)
            if lm is not None:
                counted = parameters.count(lm.model.stack(side).block(at))
            else:
                counted = parameters.of_config(config, f"{side}.blocks.{at}")
            rows.append((name, side if len(config.sides) > 1 else None, lm is not None, counted))
    return _where(rows)


_Counted = tuple[str, Side | None, bool, Mapping[parameters.Part, int]]


def _where(rows: Sequence[_Counted]) -> WhereView:
    names, stacks, loaded, found = zip(*rows, strict=True)
    counts = np.array([[counted[part] for part in parameters.PARTS] for counted in found], dtype=np.int64)
    return WhereView(names, stacks, loaded, counts)


def cache_view(lms: Sequence[LanguageModel], length: int, n_bytes: int) -> CacheView:
    """The decoders among the models given, then the published ones. Source and target are equally long."""
    rows = [(lm.name, lm.config, True) for lm in lms] + [(ref.name, ref.config, False) for ref in REFERENCES]
    rows = [row for row in rows if row[1].kind != "encoder"]
    columns: dict[str, list[int]] = {name: [] for name in CacheView._fields[2:]}
    for _, config, _ in rows:
        n = min(length, config.n_context)
        columns["lengths"].append(n)
        for name, heads in (("mha", config.n_heads), ("own", config.n_kv_heads), ("mqa", 1)):
            columns[name].append(cache_size.cache(config, n, heads, n_bytes, n_source=n).total)
        for name in ("n_heads", "n_kv_heads", "n_layers", "d_head"):
            columns[name].append(getattr(config, name))
    found = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    return CacheView(names=tuple(row[0] for row in rows), loaded=tuple(row[2] for row in rows), **found)
