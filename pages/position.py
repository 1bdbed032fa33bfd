"""Position: how the model knows where a token stands, on this sentence's values, whichever scheme it has."""

from viz_model.ui.parts import position
from viz_model.ui.stage import show

show("position", position.show)
