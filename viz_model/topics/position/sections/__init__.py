"""The sections of this page."""
