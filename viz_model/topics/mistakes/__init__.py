"""Spot the mistake: the classic bugs, each as two short functions, and what the wrong one does to this run."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Topic, beside, columns, reads_text, where
from viz_model.topics.mistakes import exercise, tabs
from viz_model.topics.mistakes.pair import LETTERS, OPTIONS, answer

PAGE = Page(
    "mistakes",
    (
        say.text("lead"),
        Row(((exercise.score,), (exercise.reset,)), (4, 1)),
        exercise.choose,
        exercise.tell,
        *where(
            exercise.is_computed,
            columns(
                *(
                    (
                        exercise.code(letter),
                        *where(lambda look: not answer(look), exercise.pick(letter)),
                        *where(answer, exercise.reply(letter), exercise.draw(letter)),
                    )
                    for letter in LETTERS
                )
            ),
            *where(lambda look: not answer(look), exercise.draw_given),
            *where(
                answer,
                exercise.draw_difference,
                exercise.verdict,
                beside(exercise.why, exercise.effect, exercise.go_on),
            ),
        ),
    ),
    (say.to_try(),),
    OPTIONS,
    tabs.APART,
    fits=reads_text,
)
TOPIC = Topic("mistakes", (PAGE,))
