"""What a model does with a text: one run, every value of it, and what can be changed in it."""
