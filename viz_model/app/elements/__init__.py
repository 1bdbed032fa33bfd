"""What a section puts on its page: functions of a :class:`viz_model.app.page.Page`."""

from viz_model.app.elements.code import code
from viz_model.app.elements.controls import choose, control, door, fold, four_tabs, on_offer
from viz_model.app.elements.formula import formula
from viz_model.app.elements.hub_names import names_on_hub
from viz_model.app.elements.prose import picture, plot, say, see, source, split, worked
from viz_model.app.elements.tables import records, table

__all__ = [
    "choose",
    "code",
    "control",
    "door",
    "fold",
    "formula",
    "four_tabs",
    "names_on_hub",
    "on_offer",
    "picture",
    "plot",
    "records",
    "say",
    "see",
    "source",
    "split",
    "table",
    "worked",
]
