"""Overview: the whole way from text to the model's answer, in one picture of this sentence's values."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Topic, wide
from viz_model.topics.overview import drawn, finding, observed, tabs, to_try, whole

PAGE = Page(
    "overview",
    items=wide(
        say.text("lead"),
        finding.tell,
        whole.draw,
        whole.source,
        say.title("try"),
        Row([(offer,) for offer in (to_try.twin, *map(to_try.offer, range(to_try.MOST)))], (1, 1, 1)),
    ),
    end=wide(tabs.quiz, tabs.to_try),
    tabs=tabs.TABS,
    has_twin=True,
)
PICTURES = Page(
    "overview",
    items=(say.text("lead"), drawn.draw, drawn.tell),
    end=(drawn.quiz, say.to_try("question_drawn", "answer_drawn")),
    tabs=drawn.TABS,
    fits=lambda config: config.is_vision_encoder,
)
OBSERVED = Page("overview", (say.observed, say.title("observed"), observed.draw), observed=True)
TOPIC = Topic("overview", (PAGE, PICTURES, OBSERVED), mixes=True)
