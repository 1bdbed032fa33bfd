"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.app import show
from viz_model.topics import attribution

show.show(attribution.TOPIC)
