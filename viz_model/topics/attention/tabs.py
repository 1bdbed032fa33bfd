"""What the four tabs of this page have, and what is asked at its end."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viz_model.drawing.tables import pick
from viz_model.island import quiz as asking
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.query import by_hand
from viz_model.island.tabs import Tabs, Worked
from viz_model.topics.attention import convolved, state
from viz_model.topics.attention.head import MATRICES, known
from viz_model.topics.attention.heads import facts, largest

FORMULAS = ("q", "k", "v", "q_normed", "k_normed", "q_rotated", "k_rotated", *MATRICES[:4], "pattern", "z", "out")
"""Values of attention whose formulas are shown, where the model has them."""


def formulas(look: Look) -> list[str]:
    if not look.has("attn.pattern"):
        return [name for name in look.trace.sites if name.startswith(look.site("attn."))]
    return [look.site(f"attn.{name}") for name in FORMULAS if look.has(f"attn.{name}")]


def hand(look: Look) -> tuple[Line | None, Sequence[Worked], dict[str, Any]]:
    """From one score of the selected query, with the key that it reads most, to what attention writes."""
    if not look.has("attn.pattern"):
        return convolved.hand(look) if convolved.is_here(look) else state.hand(look)
    row = look.narrow.once(largest)
    at = 0, look.head, look.token
    said = {name: pick(value, look.place) for name, value in facts(look.narrow).items()}
    named = {name: f"`{said[name]}`" for name in ("token", "key")}
    config = look.here
    caps = {"root_of": f"{config.root_of:g}", "cap": f"{config.score_cap or 0:g}"}
    numbers = by_hand(look.trace, look.layer, look.head, look.token, int(row.at[at]))
    return look.text("hand", **named), numbers, {"n_seen": int(row.n_seen[at]), "d_head": config.d_head, **caps}


def code(look: Look) -> tuple[str, ...]:
    """The pattern, or what stands in its place, then all values of attention as they are made."""
    at = look.site("attn.")
    own = next(look.site(f"attn.{name}") for name in ("pattern", "convolved", "state") if look.has(f"attn.{name}"))
    return own, *(name for name in look.trace.sites if name.startswith(at) and name != own)


def numbers(look: Look) -> tuple[str, np.ndarray, Sequence[str], Sequence[str]]:
    """The matrix that is chosen, of the selected head."""
    if not look.has("attn.pattern"):
        return convolved.numbers(look) if convolved.is_here(look) else state.numbers(look)
    chosen = look.options.get("matrix", "pattern")
    site = look.site(f"attn.{chosen if chosen in known(look) else 'pattern'}")
    exact = look.trace.head(site, look.head).numpy()
    return f"{look.trace.full_name(site)}[{look.head}]", exact, look.labels, look.labels


TABS = Tabs(formulas, hand, code, numbers)


def to_try(look: Look) -> Iterator[Line]:
    """What to look for, and behind a click what there is to find, in this run too."""
    suffix = "_two_way" if look.trace.side == "encoder" else ""
    yield look.to_try(f"question{suffix}")
    if len(look) < 2:
        yield look.answer(f"answer{suffix}")
        return
    before = _before(look)
    most, share = look.by("layer", before.argmax(-1), "whole"), look.by("layer", before.max(-1), "percent")
    yield look.answer(f"answer{suffix}", "here", layer=look.layer_number, most=most, share=share)


def _before(look: Look) -> np.ndarray:
    """The weight of the token just before, on the mean over queries: [L, H]."""
    return look.every("attn.pattern").diagonal(-1, -2, -1).mean(-1)


def quiz(look: Look) -> Quiz | None:
    """Which head of the layer gives most to the token just before?"""
    if len(look) < 2:
        return None
    before = _before(look)
    first = np.sort(before, -1)[:, ::-1]
    if look.n_heads > 1 and (first[:, 0] - first[:, 1] < 0.0005).any():
        return None  # two heads give as much
    return asking.one_of(look, before, [look.common("guess_head", n=n) for n in range(look.n_heads)], "guess")
