"""Position: how the model knows where a token stands, on this sentence's values, whichever scheme it has."""

from viz_model.app import show
from viz_model.topics import position

show.show(position.TOPIC)
