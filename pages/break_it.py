"""A former address of the page ablations, which opens it."""

from viz_model.app import frame

frame.moved("break_it")
