"""Architectures: pictures of two models side by side, what they share and where they differ."""
