"""The pictures of this page."""
