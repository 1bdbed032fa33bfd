"""Ten questions that people ask of language models, each answered on the visitor's own sentence."""

from viz_model.app import show
from viz_model.topics import questions

show.show(questions.TOPIC)
