"""Two models side by side, and what each kind of Transformer is for."""
