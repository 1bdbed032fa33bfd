"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""

from viz_model.app import show
from viz_model.topics import batch

show.show(batch.TOPIC)
