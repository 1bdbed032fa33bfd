"""Pictures as data: built here, drawn in a browser by ``frontend/src``, or written to files.

Import from here; :mod:`.marks` says what there is.
"""

from viz_model.drawing.scene.encode import PALETTE, Arrays, encode, framed, plain, value, with_bytes
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
    along,
    seen,
)

__all__ = [
    "PALETTE",
    "Act",
    "Arrays",
    "Cells",
    "Items",
    "Key",
    "Labels",
    "Length",
    "Mark",
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
    "along",
    "encode",
    "framed",
    "plain",
    "seen",
    "value",
    "with_bytes",
]
