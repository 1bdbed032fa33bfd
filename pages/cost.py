"""Cost: what grows with the square of the text, counted and measured, and what that answers."""

from viz_model.topics.cost import page

page.run()
