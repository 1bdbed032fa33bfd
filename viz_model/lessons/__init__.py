"""Lessons for a class: files of steps, each with a view, a text and a question whose answer is read off the run."""
