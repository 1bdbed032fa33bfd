"""Relative keys, which no bundled model has, in place of a model's own positions, on demand."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from viz_model.config import RelativeKey
from viz_model.island.look import Look
from viz_model.island.page import Chooser, columns, through
from viz_model.island.prose import Line
from viz_model.island.query import form
from viz_model.topics.position import bias, key
from viz_model.topics.position.bias import PLACE
from viz_model.topics.position.each import with_scheme
from viz_model.topics.position.schemes import own


def has_sense(look: Look) -> bool:
    """Not where the model has them itself, or where no second query stands as far from its key."""
    return not isinstance(own(look), RelativeKey) and len(look) >= 3


def lead(look: Look) -> Iterator[Line]:
    yield look.title("relative_title")
    yield look.text("relative_lead")


def choose(look: Look) -> Chooser:
    options = {"0": look.common("off"), "1": "relative_key", "2": "relative_key_query"}
    return Chooser("relative", options, look.words("relative"), look.words("relative_help"), asks=True)


def other(look: Look) -> Look | None:
    """The look at the run with relative keys, once it is asked for."""
    asked = look.options.get("relative")
    if asked not in ("1", "2") or not has_sense(look):
        return None
    both = asked == "2"
    return look.once(
        lambda look: replace(look, trace=with_scheme(look.trace, RelativeKey(with_keys=both)), _read={}),
        ("relative", both),
    )


def by_query(look: Look) -> np.ndarray:
    """What the vectors of distances add by the queries, without what they add by the keys: [L, H, T, T]."""
    made = []
    for layer, queries in zip(look.layers, torch.from_numpy(look.every(form(look, "q"))), strict=True):
        scheme, scale = look.trace.stack.position_of(layer), look.trace.stack.block(layer).attn.scale
        added = scheme.content_bias(queries, torch.zeros_like(queries), 0, scale)
        assert added is not None  # relative keys read queries
        made.append(added.detach().numpy())
    return np.stack(made)


def tell(look: Look) -> Iterator[Line]:
    """Of two queries that stand as far from their keys."""
    there = other(look)
    if there is None:
        return
    found, keys, at = there.once(bias.biased), key.chosen(there), np.arange(len(look))
    query = np.broadcast_to(at, keys.shape)
    step = np.where(np.minimum(query, keys) > 0, -1, 1)
    # At the end of a text whose first token is the key, both move back and the next pair is the other.
    is_last = np.maximum(query, keys) + step >= len(look)
    query, keys = np.where(is_last, query - 1, query), np.where(is_last, np.maximum(keys - 1, 0), keys)
    step = np.where(is_last, 1, step)
    layer, head = np.indices(keys.shape)[:2]
    values = {name: getattr(found, name)[layer, head, query, keys] for name in ("scores", "bias", "masked")}
    values["bias_other"] = found.bias[layer, head, query + step, keys + step]
    by_both = look.options.get("relative") == "2"
    if by_both:
        asked = there.once(by_query)[layer, head, query, keys]
        values |= {"asked": asked, "offered": values["bias"] - asked}
    yield there.text(
        "relative_see_both" if by_both else "relative_see",
        **{name: there.by(PLACE, value, "4") for name, value in values.items()},
        token=there.token_named(there.by(PLACE, query)),
        key=there.token_named(there.by(PLACE, keys)),
        other=there.token_named(there.by(PLACE, query + step)),
        vectors=f"{2 * look.config.n_context - 1:,}",
        layer=there.layer_number,
        head=there.head_number,
    )


MATRICES = through(
    other, bias.title, columns(*bias.matrices("relative_")), partial(bias.matrices_source, prefix="relative_")
)
