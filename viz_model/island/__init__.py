"""A page as one island: what it reads of a run, what stands on it, and the one message that the browser is sent."""
