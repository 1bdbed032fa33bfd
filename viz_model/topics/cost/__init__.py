"""What grows with the length of a text, counted and measured."""
