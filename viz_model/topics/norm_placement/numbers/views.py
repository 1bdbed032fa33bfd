"""What the pictures of this page show of its runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.measures import passage as block
from viz_model.runs.trace import Trace
from viz_model.topics.norm_placement.numbers.last_norm import LastNorm
from viz_model.topics.norm_placement.pictures.blocks import BlockView, Branch
from viz_model.topics.norm_placement.pictures.last_norm import LastNormView
from viz_model.topics.norm_placement.pictures.predictions import PredictionsView


def block_view(trace: Trace, layer: int, token: int) -> BlockView:
    steps, sums = block.passage(trace, layer, token)
    length = {step.name: float(np.linalg.norm(step.values)) for step in steps}
    names = [step.name for step in steps]
    after = [step.name for step in steps if step.site.rpartition(".resid.")[1]][1:]
    return BlockView(
        length[names[0]],
        tuple(
            Branch(found.sublayer, length[found.written], length[found.total], length[end])
            for found, end in zip(sums, after, strict=True)
        ),
    )


def predictions_of_twins(traces: Mapping[str, Trace], position: int, k: int = 5) -> PredictionsView:
    """What each twin expects after ``position``."""
    trace = traces["pre"]
    probs = {side: run.row("logits", position).softmax(-1).numpy() for side, run in traces.items()}
    first, second = probs.values()
    chosen = {int(id) for p in probs.values() for id in np.argsort(-p, kind="stable")[:k]}
    order = sorted(chosen, key=lambda id: (-max(first[id], second[id]), id))
    labels = [trace.tokenizer.token(id).label for id in order]
    best = {name: int(p.argmax()) for name, p in probs.items()}
    return PredictionsView(
        labels=tuple(labels),
        probs={name: p[order] for name, p in probs.items()},
        top={name: trace.tokenizer.token(id).label for name, id in best.items()},
        top_probs={name: float(probs[name][id]) for name, id in best.items()},
        overlap=float(np.minimum(first, second).sum()),
    )


def last_norm_view(trace: Trace, found: LastNorm, token: int) -> LastNormView:
    """Of the token that is looked at, with the names of its first choices."""
    ids = [] if found.top is None else found.top[:, token].tolist()
    return LastNormView.of(found, token, [trace.tokenizer.token(id).label for id in ids])
