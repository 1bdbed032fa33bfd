"""What the page computes: a batch as it runs, norms over it, and the batch of a tutorial."""
