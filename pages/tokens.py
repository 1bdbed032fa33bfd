"""Tokens: the text cut into entries of a vocabulary, and how another vocabulary cuts the same text."""

from viz_model.topics.tokens import page

page.run()
