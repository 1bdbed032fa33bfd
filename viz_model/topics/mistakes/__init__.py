"""Classic slips, and what each does to a run."""
