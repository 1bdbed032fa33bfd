"""Start here: the model writes, and chapter by chapter one sees how."""

from viz_model.app import show
from viz_model.topics import walk

show.show(walk.TOPIC)
