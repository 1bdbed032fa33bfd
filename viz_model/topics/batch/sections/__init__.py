"""The parts of this page."""
