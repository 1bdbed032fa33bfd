"""What the walk shows of a run."""
