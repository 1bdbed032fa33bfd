"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one."""

from viz_model.app import show
from viz_model.topics import norm_placement

show.show(norm_placement.TOPIC)
