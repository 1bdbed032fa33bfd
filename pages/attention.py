"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from viz_model.topics.attention import page

page.run()
