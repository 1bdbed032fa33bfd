"""T5's bias: a trained number for each head and bucket of distances."""

from __future__ import annotations

import numpy as np

from viz_model.app.stage import Stage
from viz_model.topics.position import numbers as analysis
from viz_model.topics.position.pictures import bias
from viz_model.topics.position.sections import common


def show(stage: Stage) -> dict[str, str]:
    """Everything up to the question, whose values it returns."""
    trace, view = stage.trace, stage.view
    buckets = analysis.buckets(trace)
    ways = "two_way" if buckets.two_way else "one_way"
    everywhere = bias.CurvesView.of(trace, view.layer, view.head, stage.token, whole=True)
    said = {**bias.bucket_by_hand(trace, 0), "head": str(view.head), **_extremes(everywhere, buckets.max_distance)}
    stage.see("t5_lead", n_heads=stage.lm.config.n_heads, **said)
    picture, see = stage.split()
    with picture:
        whole = common.whole(stage)
        curves = bias.CurvesView.of(trace, view.layer, view.head, stage.token, whole=whole)
        labels = common.words(stage, "bias", "head", "others", "distance", "added", "bucket")
        stage.figure(bias.draw_curves(curves, labels), "curves", stage.words("t5_curves_alt"))
        stage.source(stage.at("attn.bias"))
    with see:
        stage.see("t5_see", **said)
        stage.see(f"t5_{ways}", **said)
        if stage.lm.config.kind == "encoder_decoder":
            stage.see("self_only")
    found, key = common.added(stage, "added_see")
    distance = key - stage.token
    hand = {**bias.bucket_by_hand(trace, distance), **bias.by_hand(found, key)}

    def formula() -> None:
        stage.formula(*(stage.at(f"attn.{name}") for name in ("scores", "bias", "masked", "pattern")))
        stage.see("t5_formula", **said)

    def by_hand() -> None:
        names = {"token": stage.token_name(), "key": stage.token_name(key), "head": view.head}
        stage.see("t5_hand_exact" if int(hand["far"]) < buckets.exact else "t5_hand_wide", **hand, **names)
        stage.see("t5_hand", **hand, **names)

    def code() -> None:
        common.code(stage, stage.at("attn.bias"), "scores", "masked", "pattern")

    def numbers() -> None:
        _table(stage, buckets)
        common.bias_table(stage, found)

    stage.tabs(formula, by_hand, code, numbers)
    return said


def _extremes(curves: bias.CurvesView, max_distance: int) -> dict[str, str]:
    """Where the chosen head adds most and least."""
    own = curves.values[curves.head]
    assert curves.buckets is not None  # T5 has them
    said = {}
    for name, at in (("most", int(own.argmax())), ("least", int(own.argmin()))):
        span = curves.distances[curves.buckets == curves.buckets[at]]
        low, high = int(span.min()), int(span.max())
        said[name] = f"{own[at]:.3f}"
        if low <= -max_distance:
            said[f"{name}_at"] = f"≤ {high}"
        elif high >= max_distance:
            said[f"{name}_at"] = f"≥ {low}"
        else:
            said[f"{name}_at"] = str(low) if low == high else f"{low} … {high}"
    return said


def _table(stage: Stage, buckets: analysis.Buckets) -> None:
    """One row a bucket: the distances in it, and what every head adds."""
    reach = np.arange(-buckets.max_distance, (buckets.max_distance if buckets.two_way else 0) + 1)
    which, values = buckets.of(reach), analysis.bias_by_distance(stage.trace, reach)
    used = np.unique(which)
    spans = [reach[which == bucket] for bucket in used]
    columns: dict[str, list[object]] = {
        "bucket": used.tolist(),
        "key_minus_query_from": [int(span.min()) for span in spans],
        "key_minus_query_to": [int(span.max()) for span in spans],
    }
    for head, row in enumerate(values):
        columns[f"head_{head}"] = [float(row[which == bucket][0]) for bucket in used]
    stage.records("t5_buckets", columns)
