"""Batch: several sentences as one tensor, padded, masked, and each as if it were alone."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Section, Topic, beside, reads_text
from viz_model.island.tabs import Trials
from viz_model.topics.batch import loss, norms, rows, shapes, tabs, tutorial

PAGE = Page(
    "batch",
    (
        say.text("lead"),
        Row(((rows.choose,), *((rows.box(n),) for n in (1, 2, 3))), (1, 1, 1, 1)),
        rows.refused,
        beside((rows.draw, rows.draw_target), rows.tell),
        shapes.title,
        beside(shapes.draw, shapes.tell),
        Section("loss", (loss.without, beside((loss.draw, loss.note), loss.tell)), ("part=loss",)),
        Section(
            "norms",
            (norms.lead, norms.draw, norms.note, beside((norms.draw_strips, norms.changes), norms.tell)),
            ("part=norms",),
        ),
        Section(
            "tutorial",
            (
                tutorial.lead,
                tutorial.draw,
                beside((tutorial.choose, tutorial.title, tutorial.draw_rows), tutorial.tell),
            ),
            ("piece", "part=tutorial"),
        ),
    ),
    (tabs.quiz, tabs.to_try),
    (*rows.OPTIONS, tutorial.OPTION),
    tabs.APART,
    Trials(bugs=("padded",)),
    fits=reads_text,
    reads_plain=True,
)
TOPIC = Topic("batch", (PAGE,), without=frozenset({"head"}), mixes=True)
