"""Pre-LN / Post-LN: one sentence through two models that differ only in where the norm stands, or through one."""

from viz_model.island.look import Look
from viz_model.island.page import Item, Page, Section, Topic, beside, columns, where, wide
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


def _are_twins(look: Look) -> bool:
    return not is_alone(look)


BLOCKS = wide(blocks.title, beside((blocks.draw, blocks.source), blocks.tell))
PULL: tuple[Item, ...] = (pull.why_not, pull.ask, *where(pull.every, *finding(pull.tell, pull.draw)))
SENTENCE = Section(
    "sentence",
    (
        *where(_are_twins, *BLOCKS),
        depth.part,
        columns(finding(depth.lengths, depth.draw_lengths), finding(depth.shares, depth.draw_shares)),
        columns(
            (
                depth.ask,
                *where(lambda look: len(look) > 1, *finding(depth.alike, depth.draw_alike)),
                depth.end_alike,
            ),
            where(is_alone, *PULL),
        ),
    ),
    ("untrained",),
)
DECIDES = where(
    _are_twins,
    columns(
        (decides.outcome_title, decides.outcome, decides.outcome_tell),
        (decides.lines_title, decides.lines, decides.lines_tell),
        PULL,
    ),
)
ENDS = Section(
    "ends",
    (
        columns(
            (*where(last_norm.every, *finding(last_norm.tell, last_norm.draw)), last_norm.end),
            where(_are_twins, *finding(predictions.tell, predictions.draw)),
        ),
    ),
)
MIXED = Section(
    "mixed",
    (
        mixed.lead,
        *where(
            lambda look: len(look) > 1,
            mixed.choose,
            columns(mixed.stack("encoder"), mixed.stack("decoder")),
            mixed.again,
        ),
    ),
    ("mixed",),
)
PAGE = Page(
    "norm_placement",
    items=(blocks.introduce, *DECIDES, *where(is_alone, *BLOCKS), SENTENCE, ENDS, MIXED),
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
