"""What one head or one neuron is for: on the visitor's own sentence, and over many texts."""

from viz_model.app import show
from viz_model.topics import units

show.show(units.TOPIC)
