"""Break it: experiments with a question first and the measured answer after."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Topic, columns, has_text, where
from viz_model.topics.ablations import compare, painted, tabs, trying

PAGE = Page(
    "ablations",
    (
        say.text("lead"),
        trying.choose,
        trying.title,
        *where(trying.is_open, Row(((trying.word,), (trying.other,)), (1, 2)), trying.refused),
        *where(
            trying.can_be_tried,
            columns(
                (trying.ask, trying.guess, trying.buttons, trying.replaced, trying.tell, trying.measure),
                (trying.draw, *trying.BELOW),
            ),
        ),
        *where(
            lambda look: look.trace.edits,
            columns(
                (
                    compare.title,
                    *where(compare.predicts, compare.draw_guesses, compare.tell),
                    *where(lambda look: not compare.predicts(look), compare.draw_places),
                ),
                (compare.spread_title, compare.draw_spread, compare.tell_spread),
            ),
        ),
    ),
    (say.to_try(),),
    trying.OPTIONS,
    tabs.APART,
    fits=has_text,
    presses={"try": trying.press},
    unattended=(say.elsewhere,),
)
PICTURES = Page(
    "ablations",
    (
        say.text("lead"),
        painted.choose,
        Row(((painted.ask, painted.guess, painted.buttons, painted.replaced, painted.tell), (painted.draw,)), (2, 3)),
    ),
    (say.to_try(),),
    (*trying.OPTIONS[:1], *painted.OPTIONS),
    painted.APART,
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic("ablations", (PAGE, PICTURES), of_words=True, sums_heads=True)
