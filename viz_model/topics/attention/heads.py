"""All heads of a layer side by side, and what the selected one does on this text."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict
from viz_model.drawing import heatmap
from viz_model.drawing.cells import COLUMN, ROW
from viz_model.drawing.scene import Cells, Labels, Mark, Panel, Rect, Scene, Select, Text
from viz_model.drawing.scene.writing import short, width_of
from viz_model.drawing.short_repr import short_repr
from viz_model.drawing.tables import Among, Phrase
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures import heads
from viz_model.measures.heads import HEAD, STRONGEST
from viz_model.model import masks as masks_of
from viz_model.texts.markdown import literal

PLACE = "layer head token"
ALL = 0.99
"""Rows that sum to more have all of their weight, as numbers of 16 bits add up."""
MOST_NAMED = 20
"""Tokens up to which each map has their names beside its rows and below its columns."""
MOST_LETTERS, TALL = 6, 0.54
"""Letters of a name beside a map, and the height of a map as a share of its width."""
GRID_SIZE, GRID_CELLS = 64, 48_000
"""Cells along a side of a map at the most, and of all maps of a layer together; longer texts are pooled."""
HEAD_HEIGHT, EDGE, LEAST = 24.0, 6.0, 164
"""Pixels above a map, for its name, around it, and across it at least: its name and what it does are not to meet."""


@short_repr
class Heads(NamedTuple):
    """Every head of the layers that are held.

    Attributes:
        patterns: [L, H, S, S], of each pool of T×T cells the largest, NaN where a mask hides all of them.
        does: by the field of :class:`viz_model.measures.heads.HeadSummary`, [L, H].
        pool: tokens that share a row.
    """

    patterns: np.ndarray
    does: heads.HeadSummary
    pool: int


def every(look: Look) -> Heads:
    size = min(GRID_SIZE, math.isqrt(GRID_CELLS // look.n_heads))
    pool = -(-len(look) // size)
    layers = [look.heads(layer, pool) for layer in look.layers]
    fields = (
        np.array([[getattr(head, name) for head in layer.does] for layer in layers])
        for name in heads.HeadSummary._fields
    )
    summary: Any = heads.HeadSummary._make(fields)
    return Heads(np.stack([layer.patterns for layer in layers]), summary, pool)


def largest(look: Look) -> heads.Largest:
    """Of each query's row the key of most weight: [L, H, T]."""
    return heads.largest(look.every("attn.pattern"), look.visible.sum(-1)[:, None])


def facts(look: Look) -> dict[str, object]:
    """For texts: what is selected, the key that is read most there, and its weight."""
    row = look.once(largest)
    key = look.token_named(look.by(PLACE, row.at))
    return {
        "head": look.head_number,
        "layer": look.layer_number,
        "token": look.token_named(),
        "key": key,
        "strongest": key,
        "weight": look.by(PLACE, row.weight, "percent"),
    }


class Sight(NamedTuple):
    """Whom the queries of each layer see; each [L].

    Attributes:
        n: tokens.
        hidden: cells of the T×T mask that hide a key.
        is_causal: whether they are just those above the diagonal.
        size: that of the window that the mask is, 0 where it is another.
        is_two_way: whether some query sees what comes after it.
    """

    n: int
    hidden: np.ndarray
    is_causal: np.ndarray
    size: np.ndarray
    is_two_way: np.ndarray


def sight(look: Look) -> Sight:
    """Read off the masks that the run had, which may be others than the model's own."""
    visible, side, n = look.visible, look.trace.stack.side, len(look)

    def window(layer: int, seen: np.ndarray) -> int:
        size = look.config.window(side, layer)
        if not size:
            return 0
        own = masks_of.window(n, n, size, two_way=side == "encoder").numpy()
        return size if (seen == own).all() else 0

    return Sight(
        n,
        (~visible).sum((-2, -1)),
        (visible == np.tri(n, dtype=bool)).all((-2, -1)),
        np.array([window(layer, seen) for layer, seen in zip(look.layers, visible, strict=True)]),
        np.asarray(np.triu(visible, 1).any((-2, -1))),
    )


def does(look: Look, **fixed: Any) -> Any:
    """What each head does, in a word or two; of one without a role, the place or token that it reads most."""
    found = look.once(every)
    labels = [one.label(look.t.language) for one in HEAD.every]
    n_roles = len(labels)
    labels[-1] = look.words("does_here", share="{{share}}", key="{{key}}")
    labels += [look.words(f"does_{place}", share="{{share}}") for place in heads.PLACES]
    (key, share), roles = look.once(favorite), np.asarray(HEAD.table(found.does))
    places = np.stack([getattr(found.does, place) for place in heads.PLACES])
    on_place = (roles == n_roles - 1) & (places.max(0) > share)
    which = look.by("layer head", np.where(on_place, n_roles + places.argmax(0), roles), **fixed)
    share = np.where(on_place, places.max(0), share)
    known = {
        "share": look.by("layer head", share, "%0", **fixed),
        "key": look.token_named(look.by("layer head", key, **fixed)),
    }
    return Phrase(Among(labels, which), known)


def favorite(look: Look) -> tuple[np.ndarray, np.ndarray]:
    """The token that gets most of each head's weight, averaged over the queries that have a choice, and how much.

    Both [L, H].
    """
    chooses = look.visible.sum(-1) > 1  # [L, T]
    rows = np.where(chooses[:, None, :, None], look.every("attn.pattern"), 0.0).sum(-2)  # [L, H, T]
    mean = rows / np.maximum(chooses.sum(-1), 1)[:, None, None]
    return mean.argmax(-1), mean.max(-1)


def draw(look: Look) -> Scene:
    """Rows are queries, columns keys; a click on a map selects its head, another asks for a number."""
    found, words = look.once(every), look.words
    names = heatmap.spans(look.labels, found.pool)
    is_shared = look.here.n_kv_heads < look.n_heads
    top = HEAD_HEIGHT + (22 if is_shared else 0)
    has_names = found.pool == 1 and len(names) <= MOST_NAMED
    longest = max(width_of(short(name, MOST_LETTERS)) for name in names) if has_names else 0.0
    left = EDGE + (min(60.0, longest) + 4 if has_names else 0)
    below = 0.72 * longest + 2 if has_names else 0.0  # slanted
    panels = []
    for head in range(look.n_heads):
        name, kind = f"{words('grid_head')} {head}", does(look, head=head)
        where = look.cells("attn.pattern", (head, ROW, COLUMN)) if found.pool == 1 else None
        marks: list[Mark] = [
            Text(id="name", text=name, x=EDGE + 2, y=14, size=13, bold=True),
            Text(id="does", text=kind, x=(1, -EDGE), y=14, anchor="end", fill="muted"),
            Cells(
                id="cells",
                x=left,
                y=top,
                width=(1, -left - EDGE),
                height=(TALL, -left - EDGE),
                values=look.by("layer head", found.patterns, head=head),
                look="share",
                name=name,
                rows=names,
                columns=names,
                row_axis=look.common("axis_query"),
                column_axis=look.common("axis_key"),
                site=look.full("attn.pattern"),
                hidden=words("grid_masked"),
                where=where,
                bound="≤ " if found.pool > 1 else "",
                walk=False,
            ),
        ]
        if has_names:
            listed = Labels(
                id="names", texts=names, x=left - 3, y=top, length=(TALL, -left - EDGE), along="y",
                most=MOST_LETTERS, fill="muted",
            )  # fmt: skip
            keys = replace(
                listed, id="keys", x=left, y=(TALL, top - left - EDGE + 2), length=(1, -left - EDGE), along="x"
            )
            marks += [listed, keys]
        if is_shared:
            group, sharing = heads.shared_with(look.here, head)
            shares = words("grid_shared", heads=heads.span(sharing), group=group)
            marks += [
                Rect(id="shared", x=EDGE, y=25, width=4, height=14, fill="key"),
                Text(id="shares", text=shares, x=EDGE + 9, y=32),
            ]
        height = (TALL, top - left + below)
        act = Select(head=head)
        panels.append(Panel(id=f"head.{head}", marks=marks, height=height, min=LEAST, most=260, act=act, label=kind))
    return Scene(
        id="attention.grid",
        panels=panels,
        title=words("grid_title", layer=look.layer_number),
        description=words("grid_hint"),
        words={"masked": words("grid_masked")},
        note=words("pooled", pool=found.pool) if found.pool > 1 else "",
        even=True,
        data=found._replace(patterns=look.by("layer", found.patterns)),
        sites=(look.site("attn.pattern"),),
        call=look.call("heads", layer=look.layer),
    )


source = say.source("attn.pattern")


def tell(look: Look) -> Iterator[Line]:
    """What the selected head does over the whole text, what the selected token reads there, and what is hidden."""
    found, row, config = look.once(every), look.once(largest), look.config
    yield look.title("does_title", does=does(look), head=look.head_number, layer=look.layer_number)
    of = look.words("of_head", head=look.head_number, layer=look.layer_number)
    yield look.claim(STRONGEST, row, PLACE, of=of, **facts(look))
    yield look.claim(
        HEAD, found.does, "layer head", **_written(look, found.does), marks=_marks(look), **_favorite(look)
    )
    seen = look.once(sight)
    counts = {"size": look.by("layer", seen.size, "whole"), "hidden": look.by("layer", seen.hidden, "whole")}
    yield look.claim(SIGHT, seen, "layer", cells=seen.n**2, **counts, **_sums(look))
    config, reads = look.here, look.config.source_of(look.trace.stack.side, look.layer)
    if config.n_kv_heads < config.n_heads and reads is None:  # what it keeps is told
        groups = [heads.shared_with(config, head) for head in range(config.n_heads)]
        names = [heads.span(sharing) for _, sharing in groups]
        sizes = {"n_heads": config.n_heads, "n_kv_heads": config.n_kv_heads, "times": len(groups[0][1])}
        group = look.by("head", np.array([group for group, _ in groups]), "whole")
        yield look.text("see_shared", group=group, heads=Among(names, look.by("head", np.arange(len(names)))), **sizes)


def _written(look: Look, head: heads.HeadSummary) -> dict[str, object]:
    """The numbers of each head for its sentence; ``weight`` is that of the place that it mostly reads."""
    places = (head.previous, head.next, head.first, head.itself)
    shares = dict(zip(("previous", "next", "first", "itself"), places, strict=True))
    shares |= {"weight": np.max(places, axis=0), "even": head.even, "on_marks": head.marks}
    return {name: look.by("layer head", values, "%0") for name, values in shares.items()}


def _favorite(look: Look) -> dict[str, object]:
    key, share = look.once(favorite)
    return {"key": look.token_named(look.by("layer head", key)), "share": look.by("layer head", share, "%0")}


def _marks(look: Look) -> str:
    labels = dict.fromkeys(look.trace.tokens[position].label for position in heads.marks(look.trace))
    return look.listed(map(literal, labels))


def _sums(look: Look) -> dict[str, object]:
    """What the rows of a layer's patterns sum to: less than 1 where a logit that no key has takes a part."""
    sums = look.every("attn.pattern").sum(-1)
    if not look.has("attn.sink") and (sums > ALL).all():
        return {"sums": look.words("sums"), "most": "1"}
    least, most = (look.by("layer", limit(sums, axis=(1, 2)), "percent") for limit in (np.min, np.max))
    key = "sums_observed" if look.config.observed else "sums_less"
    return {"sums": look.words(key, least=least, most=most), "most": most}


SIGHT: Verdict[Sight] = Verdict(
    "attention.sight",
    Claim("alone", lambda sight: np.full_like(sight.is_causal, sight.n == 1)),
    Claim("everything", lambda sight: sight.hidden == 0),
    Claim("causal", lambda sight: sight.is_causal),
    Claim("window", lambda sight: (sight.size > 0) & ~sight.is_two_way),
    Claim("window_two_way", lambda sight: sight.size > 0),
)
