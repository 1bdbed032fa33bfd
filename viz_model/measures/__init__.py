"""What is measured of a run that more than one page speaks of."""
