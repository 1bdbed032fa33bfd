"""T5's bias: a trained number for each head and bucket of distances."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from viz_model.drawing.tables import Among, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.topics.position import bias
from viz_model.topics.position.bias import Buckets


def _buckets(look: Look) -> Buckets:
    found = bias.buckets(look)
    assert found is not None  # T5 has them
    return found


def facts(look: Look) -> dict[str, Any]:
    found = _buckets(look)
    far = 2 * found.max_distance
    near = bias.bias_by_distance(look.trace, look.layers.start, -np.arange(found.max_distance + 1))
    return {
        "buckets": found.total,
        "per_side": found.per_side,
        "exact": found.exact,
        "max_distance": found.max_distance,
        "last_from": found.last_from,
        "far": far,
        "further": far + found.max_distance,
        "head": look.head_number,
        "n_heads": look.n_heads,
        "liked": int((near.argmax(-1) <= 1).sum()),
        "disliked": int((near.argmin(-1) <= 1).sum()),
        **_extremes(look, found),
    }


def _extremes(look: Look, found: Buckets) -> dict[str, Any]:
    """Where each head adds most and least: one table of buckets serves all layers."""
    reach = round(found.max_distance * 1.15)
    at = np.arange(-reach, (reach if found.two_way else 0) + 1)
    values, of = bias.bias_by_distance(look.trace, look.layers.start, at), found.of(at)
    facts: dict[str, Any] = {}
    for name, where in (("most", values.argmax(-1)), ("least", values.argmin(-1))):
        said = [_span(found, at[of == of[n]]) for n in where]
        facts[name] = by("head", values[np.arange(len(values)), where], "3")
        facts[f"{name}_at"] = Among(said, by("head", np.arange(len(said))))
    return facts


def _span(found: Buckets, span: np.ndarray) -> str:
    low, high = int(span.min()), int(span.max())
    if low <= -found.max_distance:
        said = f"≤ {high}"
    elif high >= found.max_distance:
        said = f"≥ {low}"
    else:
        said = str(low) if low == high else f"{low} … {high}"
    return said.replace("-", "−")


lead = say.text("t5_lead", facts)
curves = partial(bias.curves, alt="t5_curves_alt")


def tell(look: Look) -> Iterator[Line]:
    known = facts(look)
    yield look.text("t5_see", **known)
    yield look.text("t5_two_way" if _buckets(look).two_way else "t5_one_way", **known)


to_try = say.to_try("t5_question", "t5_answer", facts)
_said = say.text("t5_formula", facts)


APART = Tabs(bias.formulas, lambda look: (None, bias.worked(look), {}), bias.code, bias.numbers, _said)
