"""A chapter each: its picture, its beats, and what it reads of the run."""
