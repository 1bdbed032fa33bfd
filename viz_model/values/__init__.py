"""The language in which a part declares the values it makes, and what is read off a declaration."""
