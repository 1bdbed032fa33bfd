"""The four tabs of the page, and its question."""

from typing import Any

import numpy as np

from viz_model.drawing import theme
from viz_model.drawing.tables import By, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.tabs import Tabs
from viz_model.topics.embedding import table
from viz_model.topics.embedding.table import facts


def by_hand(look: Look) -> dict[str, str]:
    """One looked-up value, and the cosine of the selected token's row with the nearest one, as sums."""
    found, token = table.of(look), look.token
    id, other = look.trace.own_ids[token], int(look.once(table.near).ids[token, 0])
    a, b = found.rows([id, other]).astype(np.float64)
    recorded = look.trace["embed.token"][token].numpy()
    d = int(np.abs(recorded).argmax())
    products = a * b
    largest = np.argsort(-np.abs(products), kind="stable")[:3]
    terms = " + ".join(f"{theme.signed(a[i])} \\cdot {theme.signed(b[i])}" for i in largest)
    return {
        "other_id": str(other),
        "d": str(d),
        "value": f"{a[d]:.6f}",
        "product": f"{a[d] * look.trace.model.embedding_scale:.4f}",
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


def quiz(look: Look) -> Quiz | None:
    """The nearest row, among others that stand near."""
    near = look.once(table.near)
    picked = sorted({0, *np.linspace(0, near.ids.shape[1] - 1, 4).round().astype(int).tolist()})
    if near.ids.shape[1] < 2:
        return None
    ids, cosines = near.ids[:, picked], near.cosines[:, picked]
    names = [table.names(look.trace.tokenizer, row.tolist()) for row in ids]
    orders = [sorted(range(len(row)), key=row.__getitem__) for row in names]
    is_clear = np.round(cosines[:, 0], 2) != np.round(cosines[:, 1], 2)
    right = np.where(is_clear, [order.index(0) for order in orders], -1).astype(np.float32)
    said = look.words("guess_found", best=table.named(look, ids[:, 0], True), most=by("token", cosines[:, 0], "2"))
    own = By(("token",), [
        [look.common("guess_own", name=row[n], value=f"{values[n]:.2f}") for n in order]
        for row, order, values in zip(names, orders, cosines, strict=True)
    ])  # fmt: skip
    options = By(("token",), [[row[n] for n in order] for row, order in zip(names, orders, strict=True)])
    return Quiz(look.words("guess", token=look.token_named()), options, by("token", right), said, own)


to_try = say.to_try(facts=facts)


def _hand(look: Look) -> Any:
    return look.text("hand", **{**facts(look), **by_hand(look)}), [], {}


def _numbers(look: Look) -> Any:
    values = look.trace["embed.token"].numpy()
    return "embed.token", values, look.labels, [str(n) for n in range(values.shape[1])]


def _formula(look: Look) -> Any:
    yield look.text("formula", **facts(look), width_letter="E" if look.config.projects_embedding else "D")


_FORMULAS = ("tokens.ids", "embed.token", "embed.segment", "embed.norm.out", "embed.out")
"""The last where it is a product with a matrix, and no mere sum."""
APART = Tabs(
    lambda look: [n for n in _FORMULAS if n in look.trace and (n != "embed.out" or look.config.projects_embedding)],
    _hand,
    lambda look: ["embed.token", *(n for n in look.trace.sites if n.startswith(("tokens.", "embed.")))],
    _numbers,
    _formula,
)
