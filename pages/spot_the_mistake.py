"""A former address of the page mistakes, which opens it."""

from viz_model.app import frame

frame.moved("spot_the_mistake")
