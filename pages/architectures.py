"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from viz_model.topics.architectures import page

page.run()
