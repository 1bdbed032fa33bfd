"""The rows of a sentence's tokens, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.embedding.numbers import views
from viz_model.topics.embedding.pictures.matrix import draw_matrix


def rows(of: Subject) -> Drawn:
    """The row of the table that each token picks."""
    view = views.matrix_view(of.trace, of.token, (of.t("common.axis_token"), of.t("common.axis_dimension")))
    facts = dict(zip(("length", "width"), view.values.shape, strict=True))
    call = of.call("embedding", token=of.token)
    return Drawn(draw_matrix(view), of.words("matrix_alt", **facts), view, ("embed.token",), call)
