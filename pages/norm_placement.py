"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one."""

from viz_model.topics.norm_placement import page

page.run()
