"""Learned positions: a trained row for every position, added to the embedding."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from viz_model.drawing.digits import written
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import by
from viz_model.island import quiz as asking
from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Quiz
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs
from viz_model.topics.position import added
from viz_model.topics.position.added import PAPER_BASE

SHARE_IN_RANGE = 0.99
"""Of trained numbers, the share that the color scale tells apart: a few, often of position 0, dwarf all others."""


def limit(look: Look) -> float:
    """Where the colors end."""
    return float(np.quantile(np.abs(look.once(added.added)), SHARE_IN_RANGE)) or 1.0


def spans(look: Look) -> list[tuple[Any, int]]:
    """The column in which the selected token's row is furthest from 0."""
    return [(by("token", added.largest_column(look)), 1)]


def facts(look: Look) -> dict[str, Any]:
    values, config = look.once(added.added), look.config
    columns = added.largest_column(look)
    return {
        "token": look.token_named(),
        "position": by("token", np.arange(len(look)), "whole"),
        "column": by("token", columns, "whole"),
        "value": by("token", values[np.arange(len(look)), columns], "4"),
        "context": f"{config.n_context:,}",
        "last_position": f"{config.n_context - 1:,}",
        "numbers": f"{config.n_context * config.d_embedding:,}",
        "d_model": config.d_embedding,
    }


lead = say.text("learned_lead", facts)


def matrix(look: Look) -> Scene:
    """Trained rows, the column framed in which the token's is furthest from 0."""
    values, alt = look.once(added.added), look.words("learned_matrix_alt")
    return added.rows(look, "position.matrix", alt, values, "embed.position", spans(look), limit(look))


def scale(look: Look) -> Iterator[Line]:
    yield from added.source(look)
    largest = np.abs(look.once(added.added)).max()
    yield look.note("learned_scale", limit=written(limit(look), "g3"), largest=written(largest, "g3"))


def tell(look: Look) -> Iterator[Line]:
    lengths = np.linalg.norm(look.once(added.added), axis=-1)
    shortest, longest = int(lengths.argmin()), int(lengths.argmax())
    yield look.text(
        "learned_see",
        **facts(look),
        length=by("token", lengths, "3"),
        shortest=f"{lengths[shortest]:.3f}",
        longest=f"{lengths[longest]:.3f}",
        shortest_at=shortest,
        longest_at=longest,
        wave_length=f"{math.sqrt(look.config.d_embedding // 2):.2f}",
    )


paper_title = say.title("learned_waves")


def paper(look: Look) -> Scene:
    """The sinusoid of the same size, which this model does not add."""
    width = look.config.d_embedding // 2 * 2
    values = added.waves(np.arange(len(look)), width, PAPER_BASE)
    return added.rows(look, "position.paper", look.words("learned_waves_alt"), values, top=1.0)


paper_note = say.note("learned_waves_note")
alike_title = say.title("learned_similarity", added.near)


def tell_alike(look: Look) -> Iterator[Line]:
    found = look.once(added.alike)
    mean, low, high = found.distance
    one = min(1, len(mean) - 1)
    numbers = {"near": mean[one], "low": low[one], "high": high[one], "far": mean[-1], "waves": found.waves[one]}
    yield added.say_alike(look)
    yield look.text(
        "learned_similarity", **{name: f"{value:.2f}" for name, value in numbers.items()}, **added.context(look)
    )


total, normed = (partial(draw, spans=spans) for draw in (added.total, added.normed))


def quiz(look: Look) -> Quiz | None:
    """Whose row is most like that of the selected token's place."""
    cosine = look.once(added.alike).cosine.copy()
    np.fill_diagonal(cosine, np.nan)
    shown = asking.spread(len(look), 5)
    names = [look.words("guess_place", n=n) for n in shown]
    place = by("token", np.arange(len(look)), "whole")
    return asking.largest(look, "token", cosine[:, shown], names, "3", "guess_alike", place=place)


to_try = say.to_try("learned_question", "learned_answer", facts)
_said = say.text("learned_formula", facts)


APART = Tabs(
    lambda look: [site for site in ("embed.position", "embed.segment", "embed.out") if site in look.trace],
    lambda look: (None, added.worked(look, [int(added.largest_column(look)[look.token])]), {}),
    added.code,
    added.numbers,
    _said,
)
