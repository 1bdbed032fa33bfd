"""How the loss of one token would change with every value and weight, from the end of the run back to its beginning."""

from viz_model.app import show
from viz_model.topics import backward

show.show(backward.TOPIC)
