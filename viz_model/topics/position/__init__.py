"""Position: how a model knows where a token stands, on this sentence's values, whichever scheme it has."""

from typing import TypeAlias

from viz_model.config import ModelConfig
from viz_model.drawing.scene import Scene
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Item, Page, Row, Section, Topic, beside, columns, where, wide
from viz_model.island.tabs import Tabs, Trials
from viz_model.topics.position import (
    added,
    alibi,
    bias,
    buckets,
    declared,
    each,
    key,
    learned,
    longer,
    nothing,
    places,
    relative,
    rotation,
    schemes,
    shifted,
    stacked,
    waves,
)
from viz_model.topics.position.schemes import has, only

Items: TypeAlias = tuple[Item | Row, ...]
BIASED = ("alibi", "t5bias")
TABS = {
    "sinusoidal": waves.APART,
    "learned": learned.APART,
    "rope": rotation.APART,
    "alibi": alibi.APART,
    "t5bias": buckets.APART,
    "noposition": nothing.APART,
    "declared": declared.APART,
}
APART = Tabs(
    lambda look: TABS[schemes.shown(look)].formulas(look),
    lambda look: TABS[schemes.shown(look)].hand(look),
    lambda look: TABS[schemes.shown(look)].code(look),
    lambda look: TABS[schemes.shown(look)].numbers(look),
    lambda look: said(look) if (said := TABS[schemes.shown(look)].said) else (),
)


SINUSOIDAL = only(
    "sinusoidal",
    waves.lead,
    stacked.title,
    beside(stacked.draw, stacked.tell),
    beside((waves.choose_pair, waves.choose_range, waves.draw, added.source), waves.tell),
)
LEARNED = only("learned", learned.lead, beside((learned.matrix, learned.scale), learned.tell))
ROPE = only(
    "rope",
    rotation.lead,
    beside((rotation.choose_pair, *wide(columns(*rotation.ROLES)), rotation.source), rotation.tell, schemes.self_only),
)
ALIBI = only(
    "alibi",
    alibi.lead,
    beside((bias.choose_range, alibi.curves, bias.source), alibi.tell, schemes.self_only),
    alibi.slopes_title,
    alibi.draw_slopes,
    alibi.tell_slopes,
)
T5 = only(
    "t5bias",
    buckets.lead,
    beside((bias.choose_range, buckets.curves, bias.source), buckets.tell, schemes.self_only),
)
NOTHING = only("noposition", nothing.lead, beside((nothing.draw, nothing.source), nothing.tell))
IN_SENTENCE: Items = (
    bias.title,
    columns(*bias.matrices()),
    bias.matrices_source,
    bias.row_title,
    beside((bias.row, bias.pattern_source), key.choose, bias.tell),
)
DECLARED: Items = (
    *only("declared", declared.lead),
    *declared.at(
        "embedding",
        beside((declared.rows, added.source), declared.tell_row),
        declared.alike_title,
        columns(*added.items("declared_")),
        declared.tell_alike,
        added.sum_title,
        added.is_whole,
        learned.total,
        learned.normed,
        added.sum_source,
        added.tell_sum,
    ),
    *declared.at(
        "queries",
        *map(declared.of_role, ("query", "key")),
        declared.offsets_title,
        beside((declared.offsets, shifted.scores_source), key.choose, declared.tell_offsets, schemes.self_only),
    ),
    *declared.at("scores", bias.choose_range, declared.curves, bias.tell_diagonals, schemes.self_only, *IN_SENTENCE),
)
DOORS = (
    Section(
        "alike",
        (
            *only("sinusoidal", waves.matrix_title, waves.matrix, added.source, waves.alike_title),
            *only("learned", learned.paper_title, learned.paper, learned.paper_note, learned.alike_title),
            *only("sinusoidal", columns(*added.items("")), added.source, waves.tell_alike),
            *only("learned", columns(*added.items("learned_")), added.source, learned.tell_alike),
        ),
        needs=has("sinusoidal", "learned"),
    ),
    Section(
        "sum",
        (
            added.sum_title,
            added.is_whole,
            *only("sinusoidal", waves.total, waves.normed),
            *only("learned", learned.total, learned.normed),
            added.sum_source,
            added.tell_sum,
            *only("sinusoidal", waves.ends),
        ),
        ("whole",),
        has("sinusoidal", "learned"),
    ),
    Section(
        "frequencies",
        (
            rotation.frequencies_title,
            columns((rotation.angles, rotation.angles_note), (rotation.lengths, rotation.lengths_note)),
            rotation.tell_frequencies,
        ),
        needs=has("rope"),
    ),
    Section(
        "proof",
        (
            shifted.proof_title,
            columns(key.choose, shifted.choose_shift),
            columns((shifted.moved, shifted.moved_note), (shifted.curve, shifted.scores_source)),
            shifted.tell_proof,
        ),
        ("shift",),
        has("rope"),
    ),
    Section("scores", IN_SENTENCE, ("key",), has(*BIASED)),
    Section(
        "longer",
        (
            longer.lead,
            longer.choose,
            *where(longer.is_asked, beside((longer.draw, say.note("beyond_note")), longer.tell)),
        ),
        ("beyond",),
    ),
    Section(
        "schemes",
        (
            each.title,
            each.draw,
            each.tell,
            schemes.table,
            *where(relative.has_sense, relative.lead, relative.choose, relative.tell),
            *relative.MATRICES,
        ),
        ("relative",),
    ),
)
FURTHEST = 100_000
OPTIONS = (
    ("pair", range(FURTHEST)),
    ("range", ("text", "context", "all")),
    ("whole", ("0", "1")),
    ("key", range(FURTHEST)),
    ("shift", range(shifted.MAX_SHIFT + 1)),
    ("beyond", ("0", "1")),
    ("relative", ("0", "1", "2")),
)
PAGE = Page(
    "position",
    (schemes.lead, *SINUSOIDAL, *LEARNED, *ROPE, *ALIBI, *T5, *NOTHING, *DECLARED, *DOORS),
    (
        *only("sinusoidal", waves.quiz, waves.to_try),
        *only("learned", learned.quiz, learned.to_try),
        *only("rope", rotation.quiz, rotation.to_try),
        *only(BIASED, bias.quiz),
        *only("alibi", alibi.to_try),
        *only("t5bias", buckets.to_try),
        *only("noposition", nothing.quiz, nothing.to_try),
        *only("declared", declared.to_try),
    ),
    OPTIONS,
    APART,
    Trials(("position", "shuffle"), ("angles", "waves")),
    unattended=(say.elsewhere,),
)


def _has_places(config: ModelConfig) -> bool:
    return config.is_vision_encoder and config.position.acts_on == "embedding"


PICTURES = Page(
    "position",
    (
        places.lead,
        places.draw,
        places.tell,
        Section(
            "sum",
            (added.sum_title, added.is_whole, learned.total, learned.normed, added.sum_source, added.tell_sum),
            ("whole",),
        ),
    ),
    (places.quiz, places.to_try),
    (("whole", ("0", "1")),),
    places.APART,
    Trials(("position", "shuffle")),
    _has_places,
)
TOPIC = Topic("position", (PAGE, PICTURES), telling=bias.telling, sums_heads=True)


def picture(look: Look) -> Scene | None:
    """The picture of the scheme; None where it has none, or the text is too short for it."""
    match schemes.shown(look):
        case "sinusoidal":
            return waves.matrix(look)
        case "learned":
            return learned.matrix(look)
        case "rope":
            return rotation.angles(look)
        case "alibi":
            return alibi.curves(look)
        case "t5bias":
            return buckets.curves(look)
        case "noposition":
            return nothing.draw(look) if nothing.is_moved(look)[look.token - nothing.measured(look).start] else None
        case _:
            return declared.draw(look)
