"""Break it: experiments with a question first and the measured answer after."""

from viz_model.app import show
from viz_model.topics import ablations

show.show(ablations.TOPIC)
