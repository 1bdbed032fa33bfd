"""Pre-LN and Post-LN: where the norm stands, and what that does."""
