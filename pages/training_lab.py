"""Training lab: a small model learns while the visitor watches."""

from viz_model.app import show
from viz_model.topics import training_lab

show.show(training_lab.TOPIC)
