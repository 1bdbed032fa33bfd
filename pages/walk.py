"""Start here: one sentence travels through the model."""

from viz_model.topics.walk import page

page.run()
