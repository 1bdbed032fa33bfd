"""The text cut into entries of a vocabulary."""
