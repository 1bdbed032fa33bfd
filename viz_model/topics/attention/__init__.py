"""Which tokens each token reads, head by head."""
