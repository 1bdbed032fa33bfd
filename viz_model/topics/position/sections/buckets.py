"""T5's bias: a trained number for each head and bucket of distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viz_model.app import elements
from viz_model.app.page import Page
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers import Buckets
from viz_model.topics.position.numbers.attention_views import curves_view
from viz_model.topics.position.sections import schemes, scores
from viz_model.topics.position.sections.scores import Scores


def _buckets(page: Page) -> Buckets:
    return numbers.buckets(page.trace, page.view.layer)


def _facts(page: Page) -> dict[str, str]:
    buckets, head = _buckets(page), page.view.head
    far = 2 * buckets.max_distance
    near = numbers.bias_by_distance(page.trace, page.view.layer, -np.arange(buckets.max_distance + 1))
    return {
        "buckets": str(buckets.total),
        "per_side": str(buckets.per_side),
        "exact": str(buckets.exact),
        "max_distance": str(buckets.max_distance),
        "last_from": str(buckets.last_from),
        "far": str(far),
        "further": str(far + buckets.max_distance),
        "head": str(head),
        "n_heads": str(len(near)),
        "liked": str(int((near.argmax(-1) <= 1).sum())),
        "disliked": str(int((near.argmin(-1) <= 1).sum())),
        **_extremes(page, buckets),
    }


def _extremes(page: Page, buckets: Buckets) -> dict[str, str]:
    """Where the chosen head adds most and least."""
    curves = curves_view(page.trace, page.view.layer, page.view.head, page.token, whole=True, buckets=buckets)
    own = curves.values[curves.head]
    assert curves.buckets is not None  # T5 has them
    facts = {}
    for name, at in (("most", int(own.argmax())), ("least", int(own.argmin()))):
        span = curves.distances[curves.buckets == curves.buckets[at]]
        low, high = int(span.min()), int(span.max())
        facts[name] = f"{own[at]:.3f}"
        if low <= -buckets.max_distance:
            said = f"≤ {high}"
        elif high >= buckets.max_distance:
            said = f"≥ {low}"
        else:
            said = str(low) if low == high else f"{low} … {high}"
        facts[f"{name}_at"] = said.replace("-", "−")
    return facts


def curves(given: Scores) -> None:
    page, facts = given.page, _facts(given.page)
    elements.see(page, "t5_lead", **facts)
    picture, see = elements.split()
    with picture:
        scores.curves(page, page.words("t5_curves_alt"), _buckets)
    with see:
        schemes.told(page, _tell, "see", ("layer", "head"))
        elements.see(page, "t5_two_way" if _buckets(page).two_way else "t5_one_way", **facts)
        scores.self_only(page)


def _tell(page: Page) -> Iterator[str]:
    yield page.prose("t5_see", **_facts(page))


def tables(given: Scores) -> None:
    """One row a bucket, the distances in it and what every head adds; then the bias of every pair."""
    page, buckets = given.page, _buckets(given.page)
    reach = np.arange(-buckets.max_distance, (buckets.max_distance if buckets.two_way else 0) + 1)
    which, values = buckets.of(reach), numbers.bias_by_distance(page.trace, page.view.layer, reach)
    used = np.unique(which)
    spans = [reach[which == bucket] for bucket in used]
    columns: dict[str, list[object]] = {
        "bucket": used.tolist(),
        "key_minus_query_from": [int(span.min()) for span in spans],
        "key_minus_query_to": [int(span.max()) for span in spans],
    }
    for head, row in enumerate(values):
        columns[f"head_{head}"] = [float(row[which == bucket][0]) for bucket in used]
    elements.records(page, "t5_buckets", columns)
    scores.table(given)


LAYOUT = scores.layout("t5", _facts, (curves,), tables)
