"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.ui.parts import why
from viz_model.ui.stage import open_stage

page = why.ask(open_stage("why"))
why.answer(page)
why.by_depth(page)
why.head(page)
why.neurons(page)

formula, hand, code, numbers = page.stage.tabs()
with formula:
    why.formula(page)
with hand:
    why.hand(page)
with code:
    why.code(page)
with numbers:
    why.numbers(page)
page.stage.question()
