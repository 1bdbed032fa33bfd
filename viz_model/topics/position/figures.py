"""What tells a model the order of its tokens, as one picture of each scheme, labelled."""

from __future__ import annotations

import numpy as np

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.position import numbers
from viz_model.topics.position.numbers import Buckets, OrderEffect, attention_views, views
from viz_model.topics.position.numbers.views import LearnedView
from viz_model.topics.position.pictures.added import draw_added
from viz_model.topics.position.pictures.curves import draw_curves
from viz_model.topics.position.pictures.lines import draw_effect
from viz_model.topics.position.pictures.matrix import draw_matrix


def of_scheme(of: Subject) -> Drawn | None:
    """The picture of the scheme of the layer; None where it has none, or the text is too short for it."""
    made = _of_scheme(of)
    call = of.call("position", layer=of.layer, head=of.head, token=of.token)
    return None if made is None else made._replace(call=call)


def _of_scheme(of: Subject) -> Drawn | None:
    scheme = numbers.scheme_of(of.trace, of.layer)
    match numbers.scheme_name(scheme):
        case "sinusoidal":
            return waves(of, numbers.wave_columns(of.trace.config, first_wave(of)))
        case "learned":
            return learned(of)
        case "rope":
            return angles(of, first_pair(of))
        case "alibi":
            return curves(of, of.words("alibi_curves_alt"))
        case "t5bias":
            return curves(of, of.words("t5_curves_alt"), buckets=numbers.buckets(of.trace, of.layer))
        case "noposition":
            order = numbers.order_effect(of.trace, of.token)
            return None if order is None else effect(of, order)
        case _:
            return _declared(of)


def first_wave(of: Subject) -> int:
    """The pair of waves that is looked at as long as nobody has chosen one."""
    return (of.trace.config.d_model // 2 - 1) // 12


def first_pair(of: Subject) -> int:
    """The same of the pairs that are turned."""
    return min(2, len(numbers.frequencies(of.trace, of.layer).used) - 1)


def _axes(of: Subject) -> tuple[str, str]:
    return of.t("common.axis_token"), of.t("common.axis_dimension")


def waves(of: Subject, columns: tuple[int, ...]) -> Drawn:
    """Fixed waves, a row a position; ``columns`` are framed."""
    view = views.matrix_view(of.trace, "embed.position", of.token, _axes(of), limit=1.0)
    return Drawn(draw_matrix(view, columns), of.words("matrix_alt"), view, ("embed.position",))


def learned(of: Subject, known: LearnedView | None = None) -> Drawn:
    """Trained rows, the column framed in which the token's is furthest from 0."""
    known = known or views.learned_view(of.trace)
    view = views.matrix_view(of.trace, "embed.position", of.token, _axes(of), limit=known.limit)
    drawn = draw_matrix(view, (known.column(of.token),))
    return Drawn(drawn, of.words("learned_matrix_alt"), view, ("embed.position",))


def largest_column(row: np.ndarray) -> int:
    """Where a row [D] is furthest from 0."""
    return int(np.abs(row).argmax())


def rows(of: Subject) -> Drawn:
    """Vectors that any other scheme adds to the embedding."""
    view = views.matrix_view(of.trace, "embed.position", of.token, _axes(of))
    column = largest_column(view.values[of.token])
    return Drawn(draw_matrix(view, (column,)), of.words("declared_matrix_alt"), view, ("embed.position",))


def angles(of: Subject, pair: int) -> Drawn:
    """By how much each pair of a query or key is turned at each position; ``pair`` is framed."""
    axes = of.t("common.axis_token"), of.words("rope_pair")
    view = attention_views.angles_view(of.trace, of.layer, of.token, axes)
    return Drawn(draw_matrix(view, (pair,)), of.words("rope_angles_alt"), view, (of.at("attn.q_rotated"),))


def curves(of: Subject, alt: str, *, whole: bool = False, buckets: Buckets | None = None) -> Drawn:
    """What heads add to their scores over the distance; ``whole``, further than this text goes."""
    names = ("head", "others", "distance", "added", "bucket")
    labels = {name: of.words(f"bias_{name}") for name in names}
    view = attention_views.curves_view(of.trace, of.layer, of.head, of.token, whole=whole, buckets=buckets)
    return Drawn(draw_curves(view, labels), alt, view, (of.at("attn.bias"),))


def effect(of: Subject, view: OrderEffect) -> Drawn:
    """Where nothing tells the order: how far the token's vectors move when the tokens before it are reordered."""
    labels = {name: of.words(f"none_{name}") for name in ("own_mask", "no_mask", "layer", "change")}
    return Drawn(draw_effect(view, labels), of.words("none_alt"), view, (of.at("resid.out"),))


def _declared(of: Subject) -> Drawn | None:
    """Of a scheme without a story of its own: what it adds to the embedding or the scores, or makes of queries."""
    if "embed.position" in of.trace:
        return rows(of)
    if of.at("attn.bias") in of.trace and numbers.knows_distance(of.trace, of.layer):
        return curves(of, of.words("declared_curves_alt"))
    if of.at("attn.bias") in of.trace:
        return added(of)
    return changed(of) if of.at("attn.q_rotated") in of.trace else None


def added(of: Subject) -> Drawn:
    """What a head adds to each score, on a colour scale of its own."""
    site, axes = of.at("attn.bias"), (of.t("common.axis_query"), of.t("common.axis_key"))
    view = attention_views.added_view(of.trace, of.layer, of.head, of.token).matrix("bias", f"{site}[{of.head}]", axes)
    view = view._replace(limit=float(np.nanmax(np.abs(view.values))) or 1.0)
    return Drawn(draw_added(view, of.words("added_bias")), of.words("declared_bias_alt"), view, (site,))


def changed(of: Subject) -> Drawn:
    """A head's queries once position has had its say."""
    axes = of.t("common.axis_token"), of.words("rope_value")
    _, view = attention_views.turned_view(of.trace, of.layer, of.head, of.token, "query", axes)
    alt = of.words("declared_after", role=of.words("role_query"))
    return Drawn(draw_matrix(view), alt, view, (of.at("attn.q_rotated"),))
