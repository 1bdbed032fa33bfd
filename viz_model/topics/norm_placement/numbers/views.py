"""What the pictures of this page show of its runs, and one step worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.block.numbers import block
from viz_model.topics.norm_placement.numbers import twins
from viz_model.topics.norm_placement.pictures.blocks import BlockView, Branch
from viz_model.topics.norm_placement.pictures.depth import DepthView
from viz_model.topics.norm_placement.pictures.final import FinalView
from viz_model.topics.norm_placement.pictures.look import Numbers
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


def depth_view(
    traces: Mapping[str, Trace],
    token: int,
    untrained: Numbers | None = None,
    known: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
) -> DepthView:
    """``known`` are lengths and similarities of a trace by side, where they are known already."""
    some = next(iter(traces.values()))
    known = known or {side: (twins.stream_norms(t), twins.stream_similarity(t)) for side, t in traces.items()}
    norms = {side: lengths for side, (lengths, _) in known.items()}
    return DepthView(
        sites=twins.stream_sites(some),
        middle={side: np.median(values, axis=1) for side, values in norms.items()},
        token={side: values[:, token] for side, values in norms.items()},
        similarity={side: alike for side, (_, alike) in known.items()},
        label=some.tokens[token].label,
        level=some.config.d_model**0.5 if block.sets_length(some) else None,
        untrained=untrained or {},
    )


def predictions_of_twins(traces: Mapping[str, Trace], position: int, k: int = 5) -> PredictionsView:
    """What each twin expects after ``position``."""
    return _predictions(
        traces["pre"],
        {side: trace.row("logits", position).softmax(-1).numpy() for side, trace in traces.items()},
        k,
    )


def predictions_without_final_norm(trace: Trace, position: int, k: int = 5) -> PredictionsView:
    """A Pre-LN model "with" its final norm and "without": the same stream, unembedded as it is."""
    bare = twins.logits_without_final_norm(trace, position).softmax(-1).numpy()
    return _predictions(trace, {"with": trace.row("logits", position).softmax(-1).numpy(), "without": bare}, k)


def _predictions(trace: Trace, probs: Mapping[str, np.ndarray], k: int) -> PredictionsView:
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


def logit_ranges(trace: Trace, position: int) -> dict[str, str]:
    """For prose: the least and the largest logit at a position, with the final norm and without."""
    bare = twins.logits_without_final_norm(trace, position)
    found = {"with": trace.row("logits", position), "without": bare}
    return {
        f"{name}_{end}": f"{value:.1f}"
        for name, logits in found.items()
        for end, value in (("least", logits.min().item()), ("largest", logits.max().item()))
    }


def final_view(trace: Trace, token: int) -> FinalView:
    before, after = twins.final_lengths(trace)
    return FinalView(tuple(token.label for token in trace.tokens), before, after, token)


def by_hand(traces: Mapping[str, Trace], layer: int, token: int) -> dict[str, dict[str, str]]:
    """One residual step of the attention sub-layer in dimension 0, as LaTeX, for each model.

    ``norm`` is the norm written out with its result, ``normed`` what was recorded of it; ``sum`` is
    the addition, ``a`` what attention answers, ``recorded`` the stream after the step.
    """
    worked: dict[str, dict[str, str]] = {}
    at = f"blocks.{layer}."
    for side, trace in traces.items():
        norm = block.normed(trace, f"{at}attn.norm", token)
        entering, a, mid, out = (
            trace[at + site][token, 0].item() for site in ("resid.in", "attn.out", "resid.mid", "attn.norm.out")
        )
        worked[side] = {
            "norm": _norm_by_hand(norm),
            "normed": f"{out:.4f}",
            "a": f"{a:.4f}",
            "sum": f"{theme.signed(entering)} + {theme.signed(a)} = {entering + a:.4f}",
            "recorded": f"{mid:.4f}",
            "name": norm.name,
        }
    return worked


def _norm_by_hand(norm: block.Normed) -> str:
    """A norm of dimension 0 as LaTeX: with its mean and shift, where it has them."""
    if norm.scale is None or norm.standard is None or norm.gain is None:
        return rf"{theme.signed(norm.before[0])} \;\mapsto\; {norm.after[0]:.4f}"
    top, end = theme.signed(norm.before[0]), ""
    after = norm.gain[0] * norm.standard[0]
    if norm.mean is not None and norm.shift is not None:
        top, end = f"{top} - {theme.signed(norm.mean)}", f" + {theme.signed(norm.shift[0])}"
        after += norm.shift[0]
    return rf"{theme.signed(norm.gain[0])} \cdot \frac{{{top}}}{{{norm.scale:.4f}}}{end} = {after:.4f}"
