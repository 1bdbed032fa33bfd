"""What comes out: the next token, a covered token, or vectors, as the model has it."""

from viz_model.ui.parts import outputs
from viz_model.ui.stage import Stage, show


def draw(stage: Stage) -> None:
    outputs.show(stage)


show("next_token", draw, outputs.told_as, without={"head"})
