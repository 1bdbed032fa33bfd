"""Block: one token's vector on its way up through a block, its norms, its hidden neurons and its weights."""

from viz_model.topics.block import page

page.run()
