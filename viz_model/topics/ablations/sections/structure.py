"""A part of every block left out: the division of the scores, positions, the mask, the additions, the norms."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import by_depth as depth
from viz_model.measures.stream import stream_sites
from viz_model.runs import edits
from viz_model.runs.trace import Trace
from viz_model.topics.ablations.left_out import Shift
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.sections.experiment import Facts, Measure, left_out
from viz_model.topics.ablations.sections.lab import Lab

MOST_HEADS = 16


# Without ÷√dₖ: how sharp is a head's pattern?


def _entropies(lab: Lab, trace: Trace) -> np.ndarray:
    return breaking.row_entropies(trace, lab.layer, lab.head)


def _ask_scale(lab: Lab) -> Facts:
    root = lab.plain.config.d_head**0.5
    return {
        "head": lab.head,
        "layer": lab.layer,
        "d_head": lab.plain.config.d_head,
        "root": f"{root:.2f}",
        "ratio": f"{np.exp(root):,.0f}",
        "before": f"{np.nanmean(_entropies(lab, lab.plain)):.2f}",
    }


def _judge_scale(before: np.ndarray, after: np.ndarray) -> tuple[Shift, str]:
    shift = Shift(float(np.nanmean(before)), float(np.nanmean(after)))
    return shift, f"{shift.after:.2f}"


# Without positions: does the head that looks one place back still find its place?


def _heads(lab: Lab) -> list[tuple[int, int]]:
    """The heads that look one place back most, in falling order: layer and number of each."""
    shares = lab.measure("previous", lab.plain)
    order = np.argsort(-shares, axis=None, kind="stable")[:MOST_HEADS]
    return [(int(n) // shares.shape[1], int(n) % shares.shape[1]) for n in order]


def _previous_shares(lab: Lab, trace: Trace) -> np.ndarray:
    shares = lab.measure("previous", trace)
    return np.array([shares[layer, head] for layer, head in _heads(lab)])


def _ask_position(lab: Lab) -> Facts:
    layer, head = _heads(lab)[0]
    return {
        "head": head,
        "layer": layer,
        "before": f"{_previous_shares(lab, lab.plain)[0]:.0%}",
        "even": f"{breaking.even_previous(lab.plain, layer):.0%}",
        "enters": lab.enters,
    }


def _judge_position(before: np.ndarray, after: np.ndarray) -> tuple[Shift, str]:
    return Shift(before[0], after[0]), f"{after[0]:.0%}"


# Without the mask: how much attention goes to the future?


def _ask_mask(lab: Lab) -> Facts:
    n = len(lab.plain)
    return {"even": f"{np.mean([(n - 1 - query) / n for query in range(n - 1)]):.0%}"}


def _judge_mask(before: np.ndarray, after: np.ndarray) -> tuple[float, str]:
    share = float(after.mean())
    return share, f"{share:.0%}"


def _open(lab: Lab) -> edits.NoMask:
    return edits.NoMask(side="decoder" if len(lab.plain.config.sides) > 1 else None)


# Without the additions: how alike do the tokens become? Without the norms: how long do the vectors become?


def _depths(lab: Lab) -> tuple[str, ...]:
    return tuple(map(depth.short, stream_sites(lab.plain)))


def _ask_residual(lab: Lab) -> Facts:
    return {"before": f"{lab.measure('similarity', lab.plain)[-1]:.2f}", "n_layers": lab.plain.n_layers}


def _judge_residual(before: np.ndarray, after: np.ndarray) -> tuple[Shift, str]:
    return Shift(before[-1], after[-1]), f"{after[-1]:.2f}"


def _ask_norm(lab: Lab) -> Facts:
    lengths = lab.measure("lengths", lab.plain)
    return {"first": f"{lengths[0]:,.1f}", "before": f"{lengths[-1]:,.1f}", "n_layers": lab.plain.n_layers}


def _judge_norm(before: np.ndarray, after: np.ndarray) -> tuple[Shift, str]:
    last = float(after[-1])
    return Shift(float(before[-1]), last), f"{last:,.1f}" if np.isfinite(last) else "∞"


EXPERIMENTS = (
    left_out(
        Measure(
            "scale",
            _ask_scale,
            _entropies,
            lambda lab: lab.labels,
            ("common.axis_query", "ablations.axis_entropy"),
            _judge_scale,
            "attn.pattern",
            by=("layer", "head"),
        ),
        edits.NoScale,
    ),
    left_out(
        Measure(
            "position",
            _ask_position,
            _previous_shares,
            lambda lab: tuple(f"{layer}.{head}" for layer, head in _heads(lab)),
            ("ablations.axis_heads", "ablations.axis_previous"),
            _judge_position,
            "attn.pattern",
            marked=(0,),
        ),
        edits.NoPosition,
    ),
    left_out(
        Measure(
            "mask",
            _ask_mask,
            lambda lab, trace: lab.measure("future", trace),
            lambda lab: tuple(map(str, range(lab.plain.n_layers))),
            ("ablations.axis_layer", "ablations.axis_future"),
            _judge_mask,
            "attn.pattern",
        ),
        edits.NoMask,
        make=_open,
        missing=lambda lab: None if lab.plain.stack.side == "decoder" else "no_mask",
    ),
    left_out(
        Measure(
            "residual",
            _ask_residual,
            lambda lab, trace: lab.measure("similarity", trace),
            _depths,
            ("ablations.axis_depth", "ablations.axis_similarity"),
            _judge_residual,
            "resid",
            lines=True,
        ),
        edits.NoResidual,
    ),
    left_out(
        Measure(
            "norm",
            _ask_norm,
            lambda lab, trace: lab.measure("lengths", trace),
            _depths,
            ("ablations.axis_depth", "ablations.axis_length"),
            _judge_norm,
            "resid",
            lines=True,
        ),
        edits.NoNorm,
        least=1,
    ),
)
