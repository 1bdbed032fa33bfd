"""Models: which there are, which could not be opened and why, and how to add one."""

from viz_model.app import model_list

model_list.run()
