"""Spot the mistake: the classic slips, each as two short functions, and what the wrong one does to this run."""

from viz_model.app import show
from viz_model.topics import mistakes

show.show(mistakes.TOPIC)
