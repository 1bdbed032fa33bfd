"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

from viz_model.topics.embedding import page

page.run()
