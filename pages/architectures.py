"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from viz_model.app import show
from viz_model.topics import architectures

show.show(architectures.TOPIC)
