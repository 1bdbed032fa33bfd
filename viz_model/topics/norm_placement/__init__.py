"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one."""

from viz_model.island.page import Item, Page, Row, Section, Topic, beside
from viz_model.island.tabs import Trials
from viz_model.topics.norm_placement import (
    blocks,
    decides,
    depth,
    elsewhere,
    last_norm,
    mixed,
    predictions,
    pull,
    tabs,
)
from viz_model.topics.norm_placement.places import finding, is_alone


def _only(alone: bool, *items: Item) -> list[Item]:
    """Items of a model without a twin, or of twins."""

    def asked(item: Item) -> Item:
        return lambda look: item(look) if is_alone(look) == alone else None

    return [asked(item) for item in items]


def _of_block(alone: bool) -> tuple[Item | Row, ...]:
    """One block with its lengths: of a model without a twin, or of both."""
    title, draw, source, tell = _only(alone, blocks.title, blocks.draw, blocks.source, blocks.tell)
    return title, beside((draw, source), tell)


PULL: tuple[Item, ...] = (pull.why_not, pull.ask, *finding(pull.tell, pull.draw))


ENLARGED, ALONE = _of_block(False), _of_block(True)
SENTENCE = Section(
    "sentence",
    (
        *ENLARGED,
        depth.part,
        Row((finding(depth.lengths, depth.draw_lengths), finding(depth.shares, depth.draw_shares)), (1, 1)),
        Row(((depth.ask, *finding(depth.alike, depth.draw_alike), depth.end_alike), _only(True, *PULL)), (1, 1)),
    ),
    ("untrained",),
)
DECIDES = Row(
    (
        (decides.outcome_title, decides.outcome, decides.outcome_tell),
        (decides.lines_title, decides.lines, decides.lines_tell),
        _only(False, *PULL),
    ),
    (1, 1, 1),
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
    items=(
        blocks.introduce,
        DECIDES,
        *ALONE,
        SENTENCE,
        ENDS,
        MIXED,
    ),
    end=(tabs.quiz, tabs.to_try),
    options=(("untrained", ("0", "1")), ("gradient", ("0", "1")), ("mixed", tuple(mixed.PLACES))),
    tabs=tabs.TABS,
    trials=Trials(("norm", "residual"), ("layer_norm", "norm_side")),
    fits=lambda config: not config.reads_pictures and not elsewhere.stands_elsewhere(config),
    has_twin=True,
)
ELSEWHERE = Page(
    "norm_placement",
    items=(elsewhere.tell,),
    fits=lambda config: not config.reads_pictures and elsewhere.stands_elsewhere(config),
)
TOPIC = Topic("norm_placement", (PAGE, ELSEWHERE), without=frozenset({"head"}), sums_heads=True)
