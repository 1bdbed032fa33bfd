"""LayerNorm and BatchNorm on the same batch: what each divides by, and what other neighbours change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.ahead import Dimension
from viz_model.app.cache import cached
from viz_model.app.elements import Said, note
from viz_model.config import Side
from viz_model.drawing.sheet import Sheet
from viz_model.drawing.strips import StripsView
from viz_model.drawing.writing import percent
from viz_model.texts.markdown import table
from viz_model.topics.batch.choices import OTHERS
from viz_model.topics.batch.claims import BATCH_NORM, LAYER_NORM, Moves
from viz_model.topics.batch.numbers import norms as numbers
from viz_model.topics.batch.numbers.norms import Neighbours
from viz_model.topics.batch.numbers.run import padded_vectors
from viz_model.topics.batch.pictures.norms import VectorsView, draw_vectors, strips_view
from viz_model.topics.batch.sections.batched import Batched, key_of, row_of, usual_texts


@cached()
def _neighbours(
    keys: tuple[runs.RunKey, ...], others: tuple[runs.RunKey, ...], side: Side, layer: int, token: int
) -> Neighbours:
    beside = [row_of(key) for key in keys]
    at = beside[0].run.at(side)
    name = at.full_name(f"blocks.{layer}.resid.in")
    own, *near = (numbers.vectors(each, name) for each in beside)
    far = [numbers.vectors(row_of(key), name) for key in others]
    padding = padded_vectors(runs.model(keys[0].model).model, beside, side, name)
    return numbers.neighbours(own, near, far, token, padding)


def of(batched: Batched) -> Neighbours:
    """The page's own sentence, always in a batch of four."""
    page = batched.page
    keys = (batched.keys[0], *(key_of(page, text) for text in batched.texts))
    others = tuple(key_of(page, text) for text in usual_texts(page, OTHERS))
    return _neighbours(keys, others, page.trace.stack.side, page.view.layer, batched.token)


def section(batched: Batched) -> None:
    page, words = batched.page, batched.page.words
    by: tuple[Dimension, ...] = ("layer", "token")

    def told(tell: Callable[[Batched], Iterable[Said | str]], key: str) -> None:
        elements.told(page, lambda page: tell(replace(batched, page=page)), key, by=by)

    told(_norms, "norms")
    elements.figure(page, lambda page: _vectors(replace(batched, page=page)), "vectors", words("vectors_alt"), by=by)
    told(_which, "vectors_note")
    picture, see = elements.split()
    with picture:
        elements.heat_rows(
            page,
            lambda page: _strips(replace(batched, page=page)),
            "strips",
            words("strips_alt"),
            own=False,
            by=by,
        )
        told(_table, "changes")
        st.caption(words("changes_note"))
    with see:
        told(_changes, "moves")


def _norms(batched: Batched) -> Iterator[str]:
    yield batched.page.prose("norms", **_facts(batched, of(batched)))


def _which(batched: Batched) -> Iterator[Said]:
    """Which of the numbers are drawn."""
    given = of(batched)
    features, n_vectors = _view(batched, given).features, sum(map(len, given.vectors))
    shown = {"first": features.start, "last": features.stop - 1, "width": given.x.size}
    yield note(batched.page.words("vectors_note", **shown, n_vectors=n_vectors))


def _changes(batched: Batched) -> Iterator[str]:
    """What other neighbours do to the vector under each norm."""
    page, given = batched.page, of(batched)
    facts, (four, two, _) = _facts(batched, given), given.changes
    moves = Moves(four.layer or 0.0, two.layer or 0.0, four.batch or 0.0, two.batch or 0.0)
    numbers_of = {name: percent(value) for name, value in moves._asdict().items()}
    for verdict in (LAYER_NORM, BATCH_NORM):
        yield page.verdict(verdict, moves, token=facts["token"], **numbers_of)
    yield page.prose("norms_why")
    if given.padded is not None:
        yield page.prose("norms_padding", padded=percent(given.padded), **facts)


def _facts(batched: Batched, given: Neighbours) -> dict[str, object]:
    return {"token": batched.token_name, "layer": batched.page.view.layer, "feature": given.feature}


def _view(batched: Batched, given: Neighbours) -> VectorsView:
    names = tuple(batched.page.words("row", n=n) for n in range(len(given.vectors)))
    return VectorsView(given.vectors, names, given.token, given.feature)


def _vectors(batched: Batched) -> Sheet:
    """The numbers of the batch, and over which of them each norm goes."""
    words, given = batched.page.words, of(batched)
    n_vectors, width = sum(map(len, given.vectors)), given.x.size
    (mean, deviation), (over, spread) = given.own_moments, given.feature_moments
    moments = {"mean": f"{over:.2f}", "deviation": f"{spread:.2f}"}
    told = {
        "token": words("position"),
        "layer": words("frame_layer", n=width, mean=f"{mean:.2f}", deviation=f"{deviation:.2f}"),
        "batch": words("frame_batch", n=n_vectors, **moments, **_facts(batched, given)),
    }
    return draw_vectors(_view(batched, given), told)


def _strips(batched: Batched) -> StripsView:
    """One vector after each norm, in two batches."""
    words, given = batched.page.words, of(batched)
    rows = [
        (words(f"strip_{kind}_{where}"), values)
        for kind, both in (("layer", given.layer), ("batch", given.batch))
        for where, values in zip(("here", "others"), both, strict=True)
    ]
    return strips_view(given.x, rows, words("strip_x"))


def _table(batched: Batched) -> Iterator[str]:
    """What neighbours change, for batches of each size."""
    words = batched.page.words

    def written(value: float | None) -> str:
        return "–" if value is None else "0" if value == 0 else percent(value)

    head = [words(f"change_{name}") for name in ("size", "n_vectors", "layer", "batch", "layer_cut", "batch_cut")]
    lines = []
    for change in of(batched).changes:
        moved = (change.layer, change.batch, change.layer_cut, change.batch_cut)
        lines.append([str(change.size), str(change.n_vectors), *map(written, moved)])
    yield table(head, lines, "lrrrrr")
