"""What the target reads of the source."""
