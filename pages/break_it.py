"""Break it: experiments with a question first and the measured answer after."""

from viz_model.ui.parts import break_it
from viz_model.ui.stage import open_stage

lab = break_it.lab(open_stage("break_it"))
experiment = break_it.choose(lab)
finding = break_it.ask(lab, experiment)
break_it.compare(lab)

formula, hand, code, numbers = lab.stage.tabs()
with formula:
    break_it.formula(lab, experiment)
with hand:
    break_it.hand(lab)
with code:
    break_it.code(lab)
with numbers:
    break_it.numbers(lab, finding)
lab.stage.question()
