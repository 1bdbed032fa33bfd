"""One token on its way through a block: norms, neurons, weights."""
