"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""

from viz_model.topics.batch import page

page.run()
