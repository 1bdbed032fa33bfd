"""What a visitor chooses on this page."""

from __future__ import annotations

import re

from viz_model.app.choices import Choice, maybe, one_of, whole
from viz_model.runs.edits import LARGEST_ACTIVATION
from viz_model.topics.block.numbers.block import SUBLAYERS

MOST = 99_999
"""More than any width. Whether the model is that wide is for the page to say."""


def _value(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,2})?", text, re.ASCII) or abs(float(text)) > LARGEST_ACTIVATION:
        raise ValueError(text)
    return float(text)


DIMENSION = whole("dimension", 0, 0, MOST)
WHICH = one_of("which", SUBLAYERS)
"""Of the norms, by the sub-layer that it belongs to."""
NEURON = maybe(whole("neuron", 0, 0, MOST))
"""The one that may be held at a value; as long as nobody chooses, the strongest."""
VALUE = Choice("value", 0.0, _value, "{:g}".format)

ALL = (DIMENSION, WHICH, NEURON, VALUE)
