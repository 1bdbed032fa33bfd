"""What comes out: the next token, a covered token, a class or vectors, as the model has it."""

from viz_model.app import show
from viz_model.topics import next_token

show.show(next_token.TOPIC)
