"""A former address of the page attribution, which opens it."""

from viz_model.app import frame

frame.moved("why")
