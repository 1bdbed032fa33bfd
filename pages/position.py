"""Position: how the model knows where a token stands, on this sentence's values, whichever scheme it has."""

from viz_model.topics.position import page

page.run()
