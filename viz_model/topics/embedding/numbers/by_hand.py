"""Numbers of the selected token's row, for prose."""

from __future__ import annotations

import numpy as np

from viz_model.drawing import theme
from viz_model.runs.trace import Trace
from viz_model.topics.embedding.numbers import Geometry


def facts(trace: Trace, geometry: Geometry, token: int) -> dict[str, str]:
    """Numbers of the selected token's row, for prose."""
    id, (n_vocab, width) = trace.own_ids[token], geometry.table.shape
    own, total = (sum(weight.numel() for weight in of.parameters()) for of in (trace.model.embedding, trace.model))
    scale = trace.model.embedding_scale
    return {
        "id": f"{id}",
        "n_vocab": f"{n_vocab:,}",
        "n_rows": f"{n_vocab}",
        "others": f"{n_vocab - 1:,}",
        "width": f"{width}",
        "length": f"{len(trace)}",
        "norm": f"{geometry.norms[id]:.2f}",
        "scaled": f"{geometry.norms[id] * scale:.2f}",
        "root": f"\\sqrt{{{width}}}" if trace.model.config.scale_embedding else "1",
        "scale": f"{scale:.4f}",
        "size": f"{own:,}",
        "share": f"{own / total:.0%}",
        "two": f"{geometry.explained.sum():.0%}",
        "rest": f"{1 - geometry.explained.sum():.0%}",
    }


def added(trace: Trace) -> tuple[str, ...]:
    """The sites of what happens to the rows before the first block; none where they go in as they are."""
    return tuple(name for name in ("embed.segment", "embed.position", "embed.norm.out") if name in trace)


def repeats(trace: Trace) -> list[int]:
    """The positions of the token that stands at most places, if it stands at more than one."""
    places: dict[int, list[int]] = {}
    for position, id in enumerate(trace.own_ids):
        places.setdefault(id, []).append(position)
    most = max(places.values(), key=len)
    return most if len(most) > 1 else []


def by_hand(trace: Trace, geometry: Geometry, token: int, other: int) -> dict[str, str]:
    """One looked-up value, and the cosine of the token's row with row ``other``, as sums."""
    id = trace.own_ids[token]
    a, b = (geometry.table[i].astype(np.float64) for i in (id, other))
    recorded = trace["embed.token"][token].numpy()
    d = int(np.abs(recorded).argmax())
    products = a * b
    largest = np.argsort(-np.abs(products), kind="stable")[:3]
    terms = " + ".join(f"{theme.signed(a[i])} \\cdot {theme.signed(b[i])}" for i in largest)
    return {
        "id": str(id),
        "other_id": str(other),
        "d": str(d),
        "value": f"{a[d]:.6f}",
        "product": f"{a[d] * trace.model.embedding_scale:.4f}",
        "recorded": f"{recorded[d]:.4f}",
        "dimensions": ", ".join(str(i) for i in largest),
        "terms": terms,
        "n_rest": str(len(a) - len(largest)),
        "rest": theme.signed(products.sum() - products[largest].sum()),
        "dot": f"{products.sum():.4f}",
        "norm_a": f"{np.linalg.norm(a):.4f}",
        "norm_b": f"{np.linalg.norm(b):.4f}",
        "exact": f"{products.sum() / (np.linalg.norm(a) * np.linalg.norm(b)):.4f}",
    }
