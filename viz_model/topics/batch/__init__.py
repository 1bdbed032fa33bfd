"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""
