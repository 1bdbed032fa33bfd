"""A text cut by two vocabularies, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.tokens.pictures.cuts import CutsView, draw_cuts


def cuts(of: Subject, view: CutsView) -> Drawn:
    """Two rows of tokens over the same bytes."""
    rows = {
        row: of.words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    hover = {**rows, **{name: of.words(name) for name in ("position", "id", "bytes")}}
    return Drawn(draw_cuts(view, hover), of.words("cuts_alt"), view, ("tokens.ids",))
