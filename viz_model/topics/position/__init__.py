"""Position: how a model knows where a token stands, on this sentence's values, whichever scheme it has."""

from functools import partial
from typing import TypeAlias

from viz_model.config import ModelConfig
from viz_model.drawing.scene import Scene
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Item, Page, Row, Section, Topic, beside, columns
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


SINUSOIDAL: Items = (
    *only("sinusoidal", waves.lead, stacked.title),
    beside(only("sinusoidal", stacked.draw), *only("sinusoidal", stacked.tell)),
    beside(
        only("sinusoidal", waves.choose_pair, waves.choose_range, waves.draw, added.source),
        *only("sinusoidal", waves.tell),
    ),
)
LEARNED: Items = (
    *only("learned", learned.lead),
    beside(only("learned", learned.matrix, learned.scale), *only("learned", learned.tell)),
)
ROPE: Items = (
    *only("rope", rotation.lead),
    beside(
        [
            *only("rope", rotation.choose_pair),
            Row([only("rope", *items) for items in rotation.ROLES], (1, 1)),
            *only("rope", rotation.source),
        ],
        *only("rope", rotation.tell, schemes.self_only),
    ),
)
ADDED: Items = (
    *only("alibi", alibi.lead),
    *only("t5bias", buckets.lead),
    beside(
        [
            *only(BIASED, bias.choose_range),
            *only("alibi", alibi.curves),
            *only("t5bias", buckets.curves),
            *only(BIASED, bias.source),
        ],
        *only("alibi", alibi.tell),
        *only("t5bias", buckets.tell),
        *only(BIASED, schemes.self_only),
    ),
    *only("alibi", alibi.slopes_title, alibi.draw_slopes, alibi.tell_slopes),
)
NOTHING: Items = (
    *only("noposition", nothing.lead),
    beside(only("noposition", nothing.draw, nothing.source), *only("noposition", nothing.tell)),
)
IN_SENTENCE: Items = (
    bias.title,
    columns(*bias.matrices()),
    bias.matrices_source,
    bias.row_title,
    beside((bias.row, bias.pattern_source), key.choose, bias.tell),
)


def _declared(place: str, *items: Item) -> list[Item]:
    """Items of what a scheme without pictures of its own does in one place."""
    return only("declared", *declared.at(place, *items))


def _declared_row(place: str, row: Row) -> Row:
    columns = ([item for item in column if not isinstance(item, Row)] for column in row.columns)
    return Row([_declared(place, *column) for column in columns], row.shares)


def _declared_score(item: Item | Row) -> Item | Row:
    return _declared_row("scores", item) if isinstance(item, Row) else _declared("scores", item)[0]


DECLARED: Items = (
    *only("declared", declared.lead),
    _declared_row("embedding", beside((declared.rows, added.source), declared.tell_row)),
    *_declared("embedding", declared.alike_title),
    _declared_row("embedding", columns(*added.items("declared_"))),
    *_declared("embedding", declared.tell_alike, added.sum_title, added.is_whole, learned.total, learned.normed),
    *_declared("embedding", added.sum_source, added.tell_sum),
    *(Row([only("declared", *column) for column in declared.of_role(role)], (1, 1)) for role in ("query", "key")),
    *_declared("queries", declared.offsets_title),
    _declared_row(
        "queries",
        beside((declared.offsets, shifted.scores_source), key.choose, declared.tell_offsets, schemes.self_only),
    ),
    *_declared("scores", bias.choose_range, declared.curves, bias.tell_diagonals, schemes.self_only),
    *map(_declared_score, IN_SENTENCE),
)
DOORS = (
    Section(
        "alike",
        (
            *only("sinusoidal", waves.matrix_title, waves.matrix, added.source),
            *only("learned", learned.paper_title, learned.paper, learned.paper_note, learned.alike_title),
            *only("sinusoidal", waves.alike_title),
            columns(
                [*only("sinusoidal", added.items("")[0]), *only("learned", added.items("learned_")[0])],
                [*only("sinusoidal", added.items("")[1]), *only("learned", added.items("learned_")[1])],
            ),
            added.source,
            *only("sinusoidal", waves.tell_alike),
            *only("learned", learned.tell_alike),
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
    Section("longer", (longer.lead, longer.choose, beside((longer.draw, longer.note), longer.tell)), ("beyond",)),
    Section(
        "schemes",
        (
            each.title,
            each.draw,
            each.tell,
            schemes.table,
            relative.lead,
            relative.choose,
            relative.tell,
            relative.title,
            columns(*(partial(relative.draw, which=which) for which in bias.MATRICES)),
            relative.source,
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
    (schemes.lead, *SINUSOIDAL, *LEARNED, *ROPE, *ADDED, *NOTHING, *DECLARED, *DOORS),
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
