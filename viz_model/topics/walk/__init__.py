"""Start here: one sentence travels through the model while one watches."""
