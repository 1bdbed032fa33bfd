"""Spot the mistake: the classic slips, each as two short functions, and what the wrong one does to this run."""

from viz_model.ui.parts import mistakes
from viz_model.ui.stage import open_stage

stage = open_stage("spot_the_mistake")
page = mistakes.choose(stage)
outcome = mistakes.pair(page)

formula, hand, code, numbers = stage.tabs()
with formula:
    mistakes.formula(page)
with hand:
    mistakes.hand(page, outcome)
with code:
    mistakes.code(page)
with numbers:
    mistakes.numbers(page, outcome)
stage.question()
