"""Training lab: a small model learns while the visitor watches."""

from viz_model.topics.training_lab import page

page.run()
