"""What comes out: the next token, a covered token, or vectors, as the model has it."""

from viz_model.ui.parts import outputs
from viz_model.ui.stage import open_stage

outputs.show(open_stage("next_token", outputs.told_as))
