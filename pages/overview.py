"""Overview: the whole way from text to the model's answer, in one picture of this sentence's values."""

from viz_model.app import show
from viz_model.topics import overview

show.show(overview.TOPIC)
