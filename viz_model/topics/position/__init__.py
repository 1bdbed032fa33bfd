"""How a model knows where a token stands."""
