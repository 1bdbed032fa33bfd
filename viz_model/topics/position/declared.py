"""Any scheme by what it declares: which value it makes, by which formula, and what that is in this run."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import By, by
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Item, Row, columns, where
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Worked
from viz_model.topics.position import added, bias, key, learned, rotation, schemes, shifted
from viz_model.topics.position.rotation import unrotated

PLACES = {"embedding": "embed.position", "queries": "attn.q_rotated", "scores": "attn.bias"}
"""Where a scheme may act, and the value that it declares there."""


def places(look: Look) -> dict[str, str]:
    """The values that the scheme makes in this layer, by place."""
    return {place: name for place, name in PLACES.items() if look.site(name) in look.trace}


def at(place: str, *items: Item | Row) -> tuple[Any, ...]:
    """Items of what a scheme without pictures of its own does in one place."""
    return schemes.only("declared", *where(lambda look: place in places(look), *items))


def lead(look: Look) -> Iterator[Line]:
    """The scheme's name, and a formula for each place."""
    found = places(look)
    if found:
        yield look.text("declared_lead", scheme=schemes.name(look, schemes.own(look)))
    else:
        yield look.text("declared_nothing", layer=look.layer_number)
    for place, name in found.items():
        site = look.trace.site(look.site(name, look.layers.start))
        yield look.text(f"declared_{place}", label=look.t.site_label(site), formula=site.formula)


# Vectors that are added to the embedding


def rows(look: Look) -> Scene:
    values, alt = look.once(added.added), look.words("declared_matrix_alt")
    return added.rows(look, "position.matrix", alt, values, "embed.position", learned.spans(look))


def tell_row(look: Look) -> Iterator[Line]:
    length = by("token", np.linalg.norm(look.once(added.added), axis=-1), "3")
    yield look.text("declared_row", **{**learned.facts(look), "length": length})


alike_title = say.title("declared_similarity", added.near)


def tell_alike(look: Look) -> Iterator[Line]:
    yield added.say_alike(look)
    yield look.text("declared_similarity", **added.near(look), **added.context(look))


# Queries and keys that are changed by their position


def role_title(look: Look, role: str, which: str) -> Iterator[Line]:
    yield Line(look.words(f"declared_{which}", role=look.words(f"role_{role}")), "part")


def vectors(look: Look, role: str, which: str) -> Scene:
    """A head's queries or keys [T, K] before or after position has its say, on one color scale."""
    names = {"before": unrotated(look, role[0]), "after": f"attn.{role[0]}_rotated"}
    both = {name: look.every(site) for name, site in names.items()}
    top = max(float(np.abs(one).max()) for one in both.values()) or 1.0
    shared = rotation.heads_of(look, role)
    table: Any = By(("layer", "head"), both[which], shared, look.by("layer", None).start)
    axis, title = look.words("rope_value"), look.words(f"declared_{which}", role=look.words(f"role_{role}"))
    return added.rows(look, f"position.declared_{which}_{role}", title, table, names[which], top=top, axis=axis)


def of_role(role: str) -> Row:
    """A column for what queries or keys are before, and after."""
    return columns(
        *(
            (partial(role_title, role=role, which=which), partial(vectors, role=role, which=which))
            for which in ("before", "after")
        )
    )


offsets_title = say.title("declared_offsets")


def offsets(look: Look) -> Scene:
    """The selected token's score with its key, at every offset."""
    return shifted.draw_offsets(look, look.words("declared_offsets_alt"), is_moved=False)


def tell_offsets(look: Look) -> Iterator[Line]:
    chosen = look.token_named(look.by("layer head token", key.chosen(look)))
    yield look.text("declared_offsets", token=look.token_named(), key=chosen)


# Numbers that are added to the scores


def curves(look: Look) -> Scene | None:
    return bias.curves(look, "declared_curves_alt") if bias.knows_distance(look) else None


to_try = say.to_try("declared_question", "declared_answer")


# One picture, and the tabs


def draw(look: Look) -> Scene | None:
    """What the scheme adds to the embedding or the scores, or makes of queries."""
    found = places(look)
    if "embedding" in found:
        return rows(look)
    if "scores" in found:
        return curves(look) or bias.draw(look, "bias", alt=look.words("declared_bias_alt"))
    return vectors(look, "query", "after") if "queries" in found else None


def _formulas(look: Look) -> list[str]:
    names = {
        "embedding": ("embed.position", "embed.out"),
        "queries": ("attn.q_rotated", "attn.k_rotated", "attn.scores"),
        "scores": ("attn.scores", "attn.bias", "attn.masked", "attn.pattern"),
    }
    shown = [name for place in places(look) for name in names[place]] or ["attn.scores", "attn.pattern"]
    return [look.site(name) for name in dict.fromkeys(shown)]


def _hand(look: Look) -> Any:
    found, chosen = places(look), int(key.chosen(look)[look.layer - look.layers.start, look.head, look.token])
    cells: list[Worked] = []
    if "embedding" in found:
        cells += added.worked(look, [int(added.largest_column(look)[look.token])])
    if "queries" in found:
        cells.append(Worked((), look.site(found["queries"]), (look.head, look.token, 0)))
    if "scores" in found:
        cells += bias.worked(look)
    else:
        cells.append(Worked((), look.site("attn.scores"), (look.head, look.token, chosen)))
    return None, cells, {}


def _numbers(look: Look) -> Any:
    found = places(look)
    if "embedding" in found:
        return added.numbers(look)
    if "queries" in found:
        return rotation.vectors(look)
    if "scores" in found:
        return bias.numbers(look)
    name = look.site("attn.scores")
    return f"{name}[{look.head}]", look.trace.head(name, look.head).numpy(), look.labels, look.labels


APART = Tabs(
    _formulas, _hand, lambda look: [look.site(name) for name in (*places(look).values(), "attn.scores")], _numbers
)
