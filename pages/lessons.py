"""Lessons: for a class, with steps, questions and a result to hand in."""

from viz_model.app.lessons import desk

desk.run()
