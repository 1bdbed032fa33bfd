"""Block: one token's vector on its way up through a block, its norms, its hidden neurons and its weights."""

from viz_model.app import show
from viz_model.topics import block

show.show(block.TOPIC)
