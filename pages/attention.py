"""Attention: which tokens each token reads, head by head, and the arithmetic behind one row."""

from viz_model.app import show
from viz_model.topics import attention

show.show(attention.TOPIC)
