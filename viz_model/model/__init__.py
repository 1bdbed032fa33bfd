"""The Transformer and the names of its values."""
