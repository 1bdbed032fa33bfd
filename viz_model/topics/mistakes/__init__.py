"""Classic bugs, and what each does to a run."""
