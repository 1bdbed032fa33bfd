"""What comes out: the next token, a covered token, or vectors, as the model has it."""

from viz_model.topics.next_token import page

page.run()
