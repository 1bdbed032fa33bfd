"""Text, ids, and how a token is shown."""
