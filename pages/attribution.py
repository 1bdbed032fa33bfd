"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.topics.attribution import page

page.run()
