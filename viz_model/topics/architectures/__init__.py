"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from functools import partial

from viz_model.island import say
from viz_model.island.page import Page, Section, Topic, Typed, beside, columns, reads_text
from viz_model.island.page import where as only
from viz_model.topics.architectures import (
    cache,
    choices,
    depth,
    diagram,
    heads,
    kinds,
    lineage,
    pair,
    parts,
    scale,
    tabs,
    vision,
    where,
)

SENTENCE = Section(
    "sentence",
    (
        say.title("sentence_title"),
        *(item(n) for n in range(2) for item in (pair.title, pair.ribbon)),
        columns(*zip(*map(pair.each, (choices.title, choices.draw, choices.tell)), strict=True)),
        columns(*zip(*map(pair.each, (heads.title, heads.draw, heads.tell)), strict=True)),
        *only(depth.view, depth.title, depth.draw, depth.source, depth.tell),
        *only(heads.distances, heads.title_distances, heads.draw_distances, say.text("apart")),
    ),
    ("other_token",),
    pair.has_other,
)
WHERE = Section(
    "where",
    (
        say.title("where_title"),
        columns((where.tell_blocks, where.draw_blocks), (where.tell_models, where.draw_models)),
        say.note("published"),
        beside((say.part("scale_title"), scale.draw), scale.tell),
        say.title("tree_title"),
        parts.choose_tree,
        parts.draw_tree,
        say.title("cache_title"),
        beside((cache.choose_bytes, cache.choose_length, cache.draw, say.note("published")), cache.tell),
    ),
    ("tree", "bytes", "length"),
    pair.has_other,
)
PAGE = Page(
    "architectures",
    (
        say.text("lead"),
        pair.choose,
        pair.unread,
        *only(pair.has_other, diagram.title, beside((columns(*pair.each(diagram.draw)),), diagram.tell)),
        Section("formulas", (columns(*pair.each(diagram.formulas)),), needs=pair.has_other),
        Section("parts", (parts.draw,), needs=pair.has_other),
        SENTENCE,
        WHERE,
        Section(
            "kinds",
            (
                say.title("kinds_title"),
                columns(
                    *(
                        (partial(kinds.title, kind=kind), partial(kinds.draw, kind=kind), say.text(f"for_{kind}"))
                        for kind in kinds.KINDS
                    )
                ),
                kinds.note,
                say.title("lineage_title"),
                lineage.choose,
                beside((lineage.draw,), lineage.tell, lineage.see),
            ),
            (lineage.STEP,),
            pair.has_other,
        ),
    ),
    end=(tabs.quiz, say.to_try()),
    options=(
        ("compare", Typed(most=80)),
        ("other_token", Typed(most=11)),
        (lineage.STEP, tuple(change.name for change in lineage.CHANGES)),
        ("tree", ("0", "1")),
        ("bytes", tuple(map(str, cache.SIZES))),
        ("length", ("1024", *(str(n) for n in cache.LENGTHS if n != 1024))),
    ),
    tabs=tabs.TABS,
    other=parts.default_partner,
    fits=reads_text,
)
TOPIC = Topic("architectures", (PAGE, vision.PAGE), mixes=True)
