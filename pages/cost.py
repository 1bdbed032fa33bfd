"""Cost: what grows with the square of the text, counted and measured, and what that answers."""

from viz_model.app import show
from viz_model.topics import cost

show.show(cost.TOPIC)
