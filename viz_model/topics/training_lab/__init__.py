"""A small model learns while the visitor watches."""
