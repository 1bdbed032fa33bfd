"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one."""

from viz_model.island.page import Page, Row, Section, Topic, Trials, beside
from viz_model.topics.norm_placement import apart, blocks, depth, elsewhere, last_norm, mixed, predictions, pull
from viz_model.topics.norm_placement.places import finding

SENTENCE = Section(
    "sentence",
    (
        depth.part,
        Row((finding(depth.lengths, depth.draw_lengths), finding(depth.shares, depth.draw_shares)), (1, 1)),
        Row(
            (
                (depth.ask, *finding(depth.alike, depth.draw_alike), depth.end_alike),
                (pull.why_not, pull.ask, *finding(pull.tell, pull.draw)),
            ),
            (1, 1),
        ),
    ),
    ("untrained", "gradient"),
)
ENDS = Section(
    "ends",
    (
        Row(
            ((*finding(last_norm.tell, last_norm.draw), last_norm.end), finding(predictions.tell, predictions.draw)),
            (1, 1),
        ),
    ),
)
MIXED = Section(
    "mixed",
    (mixed.lead, mixed.choose, Row((mixed.stack("encoder"), mixed.stack("decoder")), (1, 1)), mixed.again),
    ("mixed",),
)
PAGE = Page(
    "norm_placement",
    items=(blocks.introduce, blocks.title, beside((blocks.draw, blocks.source), blocks.tell), SENTENCE, ENDS, MIXED),
    end=(apart.quiz, apart.to_try),
    options=(("untrained", ("0", "1")), ("gradient", ("0", "1")), ("mixed", tuple(mixed.PLACES))),
    apart=apart.TABS,
    trials=Trials(("norm", "residual"), ("layer_norm", "norm_side")),
    fits=lambda config: not config.reads_pictures and not elsewhere.stands_elsewhere(config),
    has_twin=True,
)
ELSEWHERE = Page(
    "norm_placement",
    items=(elsewhere.tell,),
    fits=lambda config: not config.reads_pictures and elsewhere.stands_elsewhere(config),
)
TOPIC = Topic("norm_placement", (PAGE, ELSEWHERE), without=frozenset({"head"}))
