"""What comes out: the next token, a covered token, or vectors, as the model has it."""

from viz_model.ui.parts import outputs
from viz_model.ui.stage import show

show("next_token", outputs.show, outputs.told_as, without={"head"})
