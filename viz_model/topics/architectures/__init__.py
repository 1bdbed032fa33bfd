"""Architectures: two models side by side, where their parameters are, and what each kind of Transformer is for."""

from __future__ import annotations

from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Item, Made, Page, Row, Section, Topic, Typed, beside, columns
from viz_model.topics.architectures import (
    apart,
    cache,
    choices,
    depth,
    diagram,
    distances,
    heads,
    kinds,
    pair,
    parts,
    ribbons,
    scale,
    tree,
    vision,
    where,
)


def _of_two(item: Item) -> Item:
    """What stands there only beside another model."""

    def made(look: Look) -> Made:
        return item(look) if pair.has_other(look) else None

    return made


def _each(*items: Item) -> tuple[Item, ...]:
    return tuple(map(_of_two, items))


SENTENCE = Section(
    "sentence",
    (
        say.title("sentence_title"),
        *(item(n) for n in range(2) for item in (ribbons.title, ribbons.ribbon)),
        columns(*((choices.title(n), choices.draw(n), choices.tell(n)) for n in range(2))),
        columns(*((heads.title(n), heads.draw(n), heads.tell(n)) for n in range(2))),
        depth.title,
        depth.draw,
        depth.source,
        depth.tell,
        distances.title,
        distances.draw,
        distances.tell,
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
        beside((scale.title, scale.draw), scale.tell),
        say.title("tree_title"),
        tree.choose,
        tree.draw,
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
        _of_two(diagram.title),
        beside((columns(*_each(diagram.draw(0), diagram.draw(1))),), _of_two(diagram.tell)),
        Section("formulas", (columns(*map(diagram.formulas, range(2))),), needs=pair.has_other),
        Section("parts", (parts.draw,), needs=pair.has_other),
        SENTENCE,
        WHERE,
        Section(
            "kinds",
            (
                say.title("kinds_title"),
                Row(
                    [(kinds.title(kind), kinds.draw(kind), say.text(f"for_{kind}")) for kind in kinds.KINDS], (1, 1, 1)
                ),
                kinds.note,
            ),
            needs=pair.has_other,
        ),
    ),
    end=(apart.quiz, say.to_try()),
    options=(
        ("compare", Typed(most=80)),
        ("other_token", Typed(most=11)),
        ("tree", ("0", "1")),
        ("bytes", tuple(map(str, cache.SIZES))),
        ("length", ("1024", *(str(n) for n in cache.LENGTHS if n != 1024))),
    ),
    apart=apart.TABS,
    other=parts.default_partner,
)
TOPIC = Topic("architectures", (PAGE, vision.PAGE))
