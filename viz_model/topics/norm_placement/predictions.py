"""What both twins expect next."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from viz_model.drawing import chart
from viz_model.drawing.digits import percent
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.runs.trace import Trace
from viz_model.texts.markdown import literal
from viz_model.topics.norm_placement.places import COLORS, NAMES, Finding, runs

FIRST = 5
"""Tokens of each that are drawn."""


class PredictionsView(NamedTuple):
    """Next-token probabilities of two distributions for the tokens that either ranks among its first.

    ``labels`` [N] and ``probs`` {name: [N]} in falling order of the larger probability; ``top`` names each
    distribution's first choice and ``overlap`` is Σ min(p, q) over the full vocabulary.
    """

    labels: tuple[str, ...]
    probs: Mapping[str, np.ndarray]
    top: Mapping[str, str]
    top_probs: Mapping[str, float]
    overlap: float


def predictions(traces: Mapping[str, Trace], position: int) -> PredictionsView:
    """What each twin expects after ``position``."""
    trace = traces["pre"]
    probs = {side: run.row("logits", position).softmax(-1).numpy() for side, run in traces.items()}
    first, second = probs.values()
    chosen = {int(id) for p in probs.values() for id in np.argsort(-p, kind="stable")[:FIRST]}
    order = sorted(chosen, key=lambda id: (-max(first[id], second[id]), id))
    best = {name: int(p.argmax()) for name, p in probs.items()}
    return PredictionsView(
        labels=tuple(trace.tokenizer.token(id).label for id in order),
        probs={name: p[order] for name, p in probs.items()},
        top={name: trace.tokenizer.token(id).label for name, id in best.items()},
        top_probs={name: float(probs[name][id]) for name, id in best.items()},
        overlap=float(np.minimum(first, second).sum()),
    )


def tell(look: Look) -> Finding:
    view = predictions(runs(look), look.token)
    said = {"overlap": f"{view.overlap:.0%}", **{f"{name}_top": literal(label) for name, label in view.top.items()}}
    said |= {f"{name}_p": percent(p) for name, p in view.top_probs.items()}
    return Finding("predictions", facts={**said, "token": look.code_name(look.token)}, sites=("logits", "probs"))


def draw(look: Look) -> Scene:
    """Two bars a token."""
    view = predictions(runs(look), look.token)
    series = [chart.Bars(NAMES[at], p, COLORS[at], "{{name}}\n{{value}}", "percent") for at, p in view.probs.items()]
    scale = chart.axis(*view.probs.values(), write="%0", room=0.05)
    alt = look.words("predictions_alt")
    scene = chart.bars("norm_placement.predictions", alt, view.labels, series, scale, row=26)
    return look.drawn(look.only_here(scene, token=True), ("logits", "probs"))
