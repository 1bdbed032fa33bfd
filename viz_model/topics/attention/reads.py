"""What the tokens of a text did to a state, and what each query reads of each token's value through it.

Of a convolution, whose reads are drawn alike, see ``convolved.py``.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import matrix
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import states
from viz_model.topics.attention.state import head_of

MOST = 96
"""Tokens that have a row and a column."""
ROWS = ("alpha", "beta", "known")


class Read(NamedTuple):
    """Of each query of one head, [L, T]: where its largest share in size lies, that share, and its own token's."""

    at: np.ndarray
    largest: np.ndarray
    own: np.ndarray


def shares(look: Look) -> np.ndarray:
    """What of each row of factors is that of each token's value: [L, M, Tq, Tk]."""
    return np.stack([states.proportions(look.trace, layer) for layer in look.layers])


def read(look: Look) -> Read:
    found = look.once(shares)[:, head_of(look)]
    at = np.abs(found).argmax(-1)
    return Read(at, np.take_along_axis(found, at[..., None], -1)[..., 0], found.diagonal(0, -2, -1))


READS: Verdict[Read] = Verdict(
    "attention.reads",
    Claim("itself", lambda one: one.at == np.arange(one.at.shape[-1])),
    Claim("against", lambda one: one.largest < 0),
)
"""Of the token whose value counts most in what a query reads."""


def _rows(look: Look) -> np.ndarray:
    """α, β, and how long what was found for the key is beside the value: [L, 3, T] of the chosen head."""
    head = head_of(look)
    alpha, beta = (look.every(f"attn.{name}")[:, head] for name in ROWS[:2])
    found, value = (np.linalg.norm(look.every(f"attn.{name}")[:, head], axis=-1) for name in ("found", "value_conv"))
    return np.stack([alpha, beta, found / np.maximum(value, 1e-12)], 1).astype(np.float32)


def draw_steps(look: Look) -> Scene | None:
    """A column a token: what it keeps of the state, how far it corrects it, and how much of its value was known."""
    if len(look) > MOST:
        return None
    values = look.once(_rows, ("steps", head_of(look)))
    here: Any = look.by("token", np.arange(len(look)))
    top = look.by("layer", np.maximum(values.max((1, 2)), 1))
    scene = matrix.scene(
        "attention.memory", look.words("memory_alt", head=str(head_of(look))), look.by("layer", values),
        [look.words(f"memory_{name}") for name in ROWS], look.labels, top=top,
        frames=False, spans=((here, 1),), look="share", role="value", height=190,
    )  # fmt: skip
    return look.drawn(scene, ["attn.alpha", "attn.beta", "attn.found", "attn.value_conv"])


def tell_steps(look: Look) -> Iterator[Line]:
    rows = look.once(_rows, ("steps", head_of(look)))
    kept, beta, known = (look.by("layer token", rows[:, n], "2") for n in range(3))
    yield look.text("memory", token=look.token_named(), kept=kept, beta=beta, known=known)


def draw(look: Look) -> Scene | None:
    """A row a query, a column a token: the share of the token's value in what the query reads."""
    every, alt = look.once(shares)[:, head_of(look)], look.words("reads_alt", head=str(head_of(look)))
    seen = np.tril(np.ones(every.shape[1:], dtype=bool))
    return drawn(look, every, seen, alt, ["attn.query_unit", "attn.key_unit", "attn.alpha", "attn.beta"])


def drawn(look: Look, every: np.ndarray, seen: np.ndarray, alt: str, sites: list[str]) -> Scene | None:
    """Shares [L, T, T] as cells, where they may be other than 0: ``seen`` [T, T]."""
    if len(look) > MOST:
        return None
    top = look.by("layer", np.maximum(np.abs(every).max((1, 2)), 1e-9).astype(np.float32))
    values = look.by("layer", np.where(seen, every, np.nan).astype(np.float32))
    axes = look.words("reads_query"), look.words("reads_token")
    scene = matrix.scene(
        "attention.reads", alt, values, look.labels, look.labels, axes=axes, top=top, look="signed", role="value",
        hidden="0",
    )  # fmt: skip
    return look.drawn(scene, sites)


def tell(look: Look) -> Iterator[Line]:
    if len(look) > MOST:
        yield look.note("reads_many", most=MOST)
    found, place = look.once(read, ("read", head_of(look))), "layer token"
    yield look.text("reads")
    yield look.claim(
        READS, found, place, "text", None, token=look.token_named(), other=look.token_named(look.by(place, found.at)),
        largest=look.by(place, found.largest, "percent"), own=look.by(place, found.own, "percent"), head=head_of(look),
    )  # fmt: skip
