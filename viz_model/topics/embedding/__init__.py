"""Embedding: every token id picks its row of a learned table, and near rows mean near uses."""

from viz_model.island import say
from viz_model.island.page import Page, Row, Section, Topic, beside, where
from viz_model.island.tabs import Trials
from viz_model.topics.embedding import depth, filters, lookup, nearest, table, tabs

NEAREST = Section(
    "nearest",
    (nearest.title, Row([(nearest.tell_bars, nearest.bars), (nearest.tell_map, nearest.draw)], (2, 3)), nearest.legend),
    needs=nearest.has,
)
TRIALS = Trials(("patch",), ("look_up",))
PAGE = Page(
    "embedding",
    (
        say.text("lead"),
        *where(nearest.has, say.title("title", table.facts)),
        beside((lookup.draw, lookup.source), lookup.tell),
        lookup.heading,
        lookup.rows,
        lookup.limit,
        NEAREST,
        Section("vector", (lookup.tell_vector, lookup.vector)),
        Section("own", (say.title("own", say.token), beside((depth.draw,), depth.tell, depth.explained))),
    ),
    (tabs.quiz, tabs.to_try),
    tabs=tabs.APART,
    trials=TRIALS,
)
PICTURES = Page(
    "embedding",
    (
        say.text("lead"),
        filters.title,
        filters.draw,
        filters.source,
        filters.tell,
        filters.filters_title,
        filters.grid,
        filters.tell_filters,
        Section("patches", (filters.vectors, filters.vectors_source, filters.tell_vectors)),
    ),
    (filters.quiz, say.to_try()),
    (("filter", range(100_000)),),
    filters.APART,
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic("embedding", (PAGE, PICTURES), of_words=True, has_place=False, without=frozenset({"head"}), mixes=True)
