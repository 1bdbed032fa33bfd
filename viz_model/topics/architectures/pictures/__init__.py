"""Architectures: two models side by side, a file for each picture of what they share and where they differ."""
