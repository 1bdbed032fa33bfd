"""Training lab: a small model learns while the visitor watches."""

from viz_model.ui.parts import lab
from viz_model.ui.stage import open_stage

stage = open_stage("training_lab")

lab.start(stage, lab.settings(stage))
lab.watch(stage)
lab.explain(stage)
lab.keep(stage)

formula, hand, code, numbers = stage.tabs()
with formula:
    stage.see("formula")
with hand:
    lab.by_hand(stage)
with code:
    stage.code()
with numbers:
    lab.numbers(stage)
stage.question()
