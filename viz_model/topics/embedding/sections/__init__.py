"""The parts of the embedding page."""
