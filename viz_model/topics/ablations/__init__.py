"""Experiments: a part taken out, and what that changes."""
