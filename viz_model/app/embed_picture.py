"""One picture alone, within a page of somebody else's: ``?embed=true&picture=attention.grid``."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from viz_model.app.choices import words
from viz_model.app.view import ViewState

PICTURE = words("picture", r"[a-z0-9_.]{1,80}")
"""The picture by its id; without one the whole page is shown."""


def without(view: ViewState) -> ViewState:
    """The view of the whole page."""
    chosen = {name: value for name, value in view.choices.items() if name != f"{view.page}.{PICTURE.name}"}
    return replace(view, choices=MappingProxyType(chosen))
