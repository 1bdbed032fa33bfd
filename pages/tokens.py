"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

from viz_model.app import show
from viz_model.topics import tokens

show.show(tokens.TOPIC)
