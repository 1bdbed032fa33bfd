"""The whole run in one picture."""
