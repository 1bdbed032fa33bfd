"""What a section puts on its page: functions of a :class:`viz_model.app.page.Page`."""

from viz_model.app.elements.code import code
from viz_model.app.elements.controls import choose, control, on_offer
from viz_model.app.elements.figure import picture, plot, source
from viz_model.app.elements.formula import formula
from viz_model.app.elements.prose import say, see, split
from viz_model.app.elements.tables import records, table
from viz_model.app.elements.tabs import door, fold, four_tabs, tabs
from viz_model.app.elements.told import Said, note, notice, title, told
from viz_model.app.elements.worked import worked
from viz_model.island.page import Worked

__all__ = [
    "Said",
    "Worked",
    "choose",
    "code",
    "control",
    "door",
    "fold",
    "formula",
    "four_tabs",
    "note",
    "notice",
    "on_offer",
    "picture",
    "plot",
    "records",
    "say",
    "see",
    "source",
    "split",
    "table",
    "tabs",
    "title",
    "told",
    "worked",
]
