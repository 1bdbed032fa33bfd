"""A query and a key in each form that they take before they meet: as projected, normalized, with their positions."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from viz_model.config import Rope
from viz_model.drawing import strips
from viz_model.drawing.cells import COLUMN
from viz_model.drawing.scene import Scene
from viz_model.drawing.strips import Strip, StripsView
from viz_model.drawing.tables import Among, Phrase
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.query import FORMS
from viz_model.measures import heads
from viz_model.topics.attention.heads import PLACE, largest


class Form(NamedTuple):
    """One form of the selected query, of the key that it reads most, and of their products.

    Attributes:
        query, key: [L, H, T, K].
        product: of the two, [L, H, T].
        low, high: of all products with keys that the query sees, [L, H, T].
    """

    query: np.ndarray
    key: np.ndarray
    product: np.ndarray
    low: np.ndarray
    high: np.ndarray


def names(look: Look) -> tuple[str, ...]:
    """The forms that this model has, in order."""
    return tuple(form for form in FORMS if look.has(f"attn.q{form}"))


def changes(look: Look) -> bool:
    """Whether queries and keys are changed before they meet."""
    return len(names(look)) > 1


def forms(look: Look) -> list[Form]:
    best, seen = look.once(largest).at, look.visible[:, None]
    found = []
    for form in names(look):
        q, k = look.of_heads(f"attn.q{form}"), look.of_heads(f"attn.k{form}")
        products = q @ k.swapaxes(-1, -2)
        found.append(
            Form(
                q,
                np.take_along_axis(k, best[..., None], -2),
                np.take_along_axis(products, best[..., None], -1)[..., 0],
                np.where(seen, products, np.inf).min(-1),
                np.where(seen, products, -np.inf).max(-1),
            )
        )
    return found


def title(look: Look) -> Iterator[Line]:
    key = look.token_named(look.by(PLACE, look.once(largest).at))
    yield look.title(f"forms{''.join(names(look)[1:])}", token=look.token_named(), key=key)


def draw(look: Look) -> Scene:
    """A strip for the query and the key in each form, with its length behind it; both share a scale."""
    found, words = look.once(forms), look.words
    group = look.by("head", np.array([heads.shared_with(look.here, head)[0] for head in range(look.n_heads)]))
    best = look.by(PLACE, look.once(largest).at)
    drawn = []
    for letter in "qk":
        for form, one in zip(names(look), found, strict=True):
            values = one.query if letter == "q" else one.key
            top = np.maximum(np.abs(one.query).max(-1), np.abs(one.key).max(-1))
            index = ("head", "token", COLUMN) if letter == "q" else (group, best, COLUMN)
            length = look.by(PLACE, np.linalg.norm(values, axis=-1), "2")
            drawn.append(
                Strip(
                    words(f"form_{letter}{form}"),
                    look.by(PLACE, values),
                    top=look.by(PLACE, np.where(top > 0, top, 1.0)),
                    cells=look.cells(f"attn.{letter}{form}", index),
                    behind=Phrase(f"{words('form_length')} {{{{length}}}}", {"length": length}),
                )
            )
    columns = tuple(map(str, range(look.here.d_head)))
    view = StripsView(tuple(drawn), columns, 56 + 34 * len(drawn), column_axis=words("form_axis"))
    scene = strips.scene(view, "attention.forms", words("forms_alt"), {"masked": look.common("masked")})
    sites = [f"attn.{letter}{form}" for form in names(look) for letter in "qk"]
    return look.drawn(scene, sites, note=words("forms_note"))


def tell(look: Look) -> Iterator[Line]:
    """What each step did to lengths and products."""
    found, best = look.once(forms), look.once(largest).at
    key = look.token_named(look.by(PLACE, best))
    turns = isinstance(look.config.layer(look.trace.stack.side, look.layer).position, Rope)
    for n, form in enumerate(names(look)[1:], start=1):
        before, after = found[n - 1], found[n]
        facts: dict[str, Any] = {}
        for name, one in (("before", before), ("after", after)):
            numbers = {
                f"q_{name}": np.linalg.norm(one.query, axis=-1),
                f"k_{name}": np.linalg.norm(one.key, axis=-1),
                f"product_{name}": one.product,
                f"low_{name}": one.low,
                f"high_{name}": one.high,
            }
            facts |= {name: look.by(PLACE, values, "2") for name, values in numbers.items()}
        if form != "_rotated":
            yield look.text(f"form{form}", token=look.token_named(), key=key, **facts)
            continue
        kinds = ("form_rotated", "form_rotated_itself", "form_stretched", "form_placed")
        lines = [look.text(kind, token=look.token_named(), key=key, **facts).words for kind in kinds]
        kept = _kept(before.query, after.query) & _kept(before.key, after.key)
        itself = best == np.arange(len(look))
        which = np.where(kept, np.where(itself, 1, 0), 2) if turns else np.full(best.shape, 3)
        values = {name: value for line in lines for name, value in line.values.items()}
        yield Line(Phrase(Among([line.template for line in lines], look.by(PLACE, which)), values))


def _kept(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether vectors are as long as they were."""
    return np.isclose(np.linalg.norm(before, axis=-1), np.linalg.norm(after, axis=-1), rtol=1e-3)
