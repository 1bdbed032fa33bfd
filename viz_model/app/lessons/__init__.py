"""Lessons in the app: what they may name, a step beside its page, and the desk where they begin and end."""
