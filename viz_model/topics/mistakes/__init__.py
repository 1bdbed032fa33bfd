"""Spot the mistake: the classic bugs, each as two short functions, and what the wrong one does to this run."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Topic, beside, columns, reads_text
from viz_model.topics.mistakes import exercise, tabs
from viz_model.topics.mistakes.pair import LETTERS, OPTIONS

PAGE = Page(
    "mistakes",
    (
        say.text("lead"),
        Row(((exercise.score,), (exercise.reset,)), (4, 1)),
        exercise.choose,
        exercise.tell,
        columns(
            *(
                (exercise.code(letter), exercise.pick(letter), exercise.reply(letter), exercise.draw(letter))
                for letter in LETTERS
            )
        ),
        exercise.draw_given,
        exercise.draw_difference,
        exercise.verdict,
        beside((exercise.why,), exercise.effect, exercise.go_on),
    ),
    (say.to_try(),),
    OPTIONS,
    tabs.APART,
    fits=reads_text,
)
TOPIC = Topic("mistakes", (PAGE,))
