"""What is computed for this page."""
