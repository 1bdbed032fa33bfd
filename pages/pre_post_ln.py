"""A former address of the page norm_placement, which opens it."""

from viz_model.app import frame

frame.moved("pre_post_ln")
