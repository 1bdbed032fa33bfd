"""What a section puts on its page: functions of a :class:`viz_model.app.page.Page`."""

from viz_model.app.elements.code import code
from viz_model.app.elements.controls import choose, control, on_offer
from viz_model.app.elements.figure import figure, film, heat_rows, picture, plot, shown, source
from viz_model.app.elements.formula import formula
from viz_model.app.elements.guess import Answer, Guess, Option, largest, of_heads, of_tokens, spread
from viz_model.app.elements.prose import question, say, see, split
from viz_model.app.elements.tables import records, table
from viz_model.app.elements.tabs import door, fold, four_tabs, tabs
from viz_model.app.elements.told import Said, note, notice, title, told
from viz_model.app.elements.worked import worked
from viz_model.island.page import Worked

__all__ = [
    "Answer",
    "Guess",
    "Option",
    "Said",
    "Worked",
    "choose",
    "code",
    "control",
    "door",
    "figure",
    "film",
    "fold",
    "formula",
    "four_tabs",
    "heat_rows",
    "largest",
    "note",
    "notice",
    "of_heads",
    "of_tokens",
    "on_offer",
    "picture",
    "plot",
    "question",
    "records",
    "say",
    "see",
    "shown",
    "source",
    "split",
    "spread",
    "table",
    "tabs",
    "title",
    "told",
    "worked",
]
