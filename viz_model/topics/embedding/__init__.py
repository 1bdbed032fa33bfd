"""Rows of a learned table."""
