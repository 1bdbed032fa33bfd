"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

from viz_model.app import show
from viz_model.topics import embedding

show.show(embedding.TOPIC)
