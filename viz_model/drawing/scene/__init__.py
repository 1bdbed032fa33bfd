"""Pictures as data: built here, drawn in a browser by ``frontend/src``, or written to files.

Import from here; :mod:`.marks` says what there is.
"""

from viz_model.drawing.scene.encode import Case, Merged, encode, framed, merged, with_bytes
from viz_model.drawing.scene.film import Film, Frame
from viz_model.drawing.scene.marks import (
    Act,
    Cells,
    Items,
    Key,
    Labels,
    Length,
    Mark,
    Panel,
    Path,
    Pick,
    Rect,
    Run,
    Scene,
    Select,
    Series,
    Text,
    Texts,
    Words,
    points,
)

__all__ = [
    "Act",
    "Case",
    "Cells",
    "Film",
    "Frame",
    "Items",
    "Key",
    "Labels",
    "Length",
    "Mark",
    "Merged",
    "Panel",
    "Path",
    "Pick",
    "Rect",
    "Run",
    "Scene",
    "Select",
    "Series",
    "Text",
    "Texts",
    "Words",
    "encode",
    "framed",
    "merged",
    "points",
    "with_bytes",
]
