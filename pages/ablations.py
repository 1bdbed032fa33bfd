"""Break it: experiments with a question first and the measured answer after."""

from viz_model.topics.ablations import page

page.run()
