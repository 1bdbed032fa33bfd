"""The numbers of this page."""
