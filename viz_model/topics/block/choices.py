"""What a visitor chooses on this page."""

from __future__ import annotations

import re

from viz_model.app.choices import Choice, maybe, number, one_of, switch, whole
from viz_model.runs.edits import LARGEST_ACTIVATION
from viz_model.topics.block.numbers.block import SUBLAYERS
from viz_model.topics.block.numbers.dropout import PLACES, Place

MOST = 99_999
"""More than any width. Whether the model is that wide is for the page to say."""


def _value(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,2})?", text, re.ASCII) or abs(float(text)) > LARGEST_ACTIVATION:
        raise ValueError(text)
    return float(text)


def _places(text: str) -> tuple[Place, ...]:
    found = text.split(".") if text else []
    if not {*found} <= PLACES.keys():
        raise ValueError(text)
    return tuple(place for place in PLACES if place in found)


DIMENSION = whole("dimension", 0, 0, MOST)
WHICH = one_of("which", SUBLAYERS)
"""Of the norms, by the sub-layer that it belongs to."""
NEURON = maybe(whole("neuron", 0, 0, MOST))
"""The one that is taken for a key and a value, and may be held; as long as nobody chooses, the strongest."""
VALUE = Choice("value", 0.0, _value, "{:g}".format)

FIRES = switch("fires")
"""Whether the texts that fire the neuron are looked for; the next three open the parts of their names."""
DROPOUT = switch("dropout")
REAL_CODE = switch("real_code")
EXPERTS_GET = switch("experts_get")
DROPPED: Choice[tuple[Place, ...]] = Choice("dropped", ("sublayer",), _places, ".".join)
RATE = number("rate", 0.1, 0.0, 0.9)
SEED = whole("seed", 0, 0, 999)

CHANGED = (VALUE, DROPOUT, DROPPED, RATE, SEED)
"""What is changed in the block."""

ALL = (DIMENSION, WHICH, NEURON, FIRES, EXPERTS_GET, REAL_CODE, *CHANGED)
