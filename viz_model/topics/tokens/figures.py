"""A text cut by two vocabularies, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Code, Subject
from viz_model.topics.tokens.pictures.cuts import CutsView, draw_cuts


def cuts(of: Subject, view: CutsView, model: str = "") -> Drawn:
    """Two rows of tokens over the same bytes; ``model`` has the second vocabulary, where it is not ``cl100k_base``."""
    rows = {
        row: of.words("row", name=cut.name, n=len(cut.tokens), per=f"{view.n_bytes / max(1, len(cut.tokens)):.1f}")
        for row, cut in (("upper", view.upper), ("lower", view.lower))
    }
    hover = {**rows, **{name: of.words(name) for name in ("position", "id", "bytes")}}
    beside = {"beside": Code(f"vm.load({model!r}).tokenizer")} if model else {}
    call = of.call("tokens", token=of.token, **beside)
    return Drawn(draw_cuts(view, hover), of.words("cuts_alt"), view, ("tokens.ids",), call)
