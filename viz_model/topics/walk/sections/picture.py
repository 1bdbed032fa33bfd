"""The walk of a picture: its stops, each with its film and its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from viz_model.app import describe, elements, runs
from viz_model.app.page import Page
from viz_model.app.topic import Layout, itself
from viz_model.drawing.scene import Film, Frame
from viz_model.drawing.writing import percent
from viz_model.measures import filters, patches
from viz_model.measures.classes import Classes, by_depth, classes
from viz_model.runs import edits
from viz_model.topics.walk.pictures import picture
from viz_model.topics.walk.pictures.picture import Patched, Shot, scene
from viz_model.topics.walk.sections.films import controls
from viz_model.topics.walk.sections.stop import columns, standing

DOORS = {
    "look": "overview",
    "pieces": "embedding",
    "vectors": "embedding",
    "places": "position",
    "question": "attention",
    "heads": "attention",
    "again": "next_token",
    "out": "next_token",
    "break": "ablations",
}
"""The page of each stop's stage, in the order in which one walks."""
LAST_DOORS = ("overview", "attention", "attribution", "ablations")
SEED = 1


class Walked(NamedTuple):
    """What the films are made of."""

    page: Page
    view: Patched
    said: Classes | None

    @property
    def weights(self) -> np.ndarray:
        """Where [CLS] looks in the heads of the layer that is looked at: [H, T]."""
        page = self.page
        return page.trace.row(f"blocks.{page.view.layer}.attn.pattern", 0).numpy()


def stops(page: Page) -> tuple[str, ...]:
    """Those that a picture has; without a head for classes it ends in vectors."""
    own = (*DOORS, "end")
    return own if page.lm.config.classes else tuple(n for n in own if n not in _NEED_CLASSES)


_NEED_CLASSES = ("again", "out", "break")


def section(page: Page) -> None:
    at = standing(page, stops(page))
    said = classes(page.trace) if page.lm.config.classes else None
    view = Patched(patches.drawn(page.trace), patches.grid(page.lm.config), patches.names(page.trace, page.t))
    walked = Walked(page, view, said)
    beside, stage = columns()
    with beside:
        st.header(at.title, anchor=False)
        is_plain = at.stop == "look" and said is None
        elements.see(page, "picture_look_vectors" if is_plain else f"picture_{at.stop}", **_facts(walked))
    with stage:
        frames = [
            Frame(scene=scene(shot, at.title), caption=shot.caption, seconds=shot.seconds)
            for shot in _SHOTS[at.stop](walked)
        ]
        number = at.passed.index(at.stop)
        film = Film(key=at.stop, frames=frames, stops=at.titles, stop=number, words=controls(page))
        at.show(film, DOORS, LAST_DOORS)


def _facts(walked: Walked) -> dict[str, Any]:
    page, said = walked.page, walked.said
    config = page.lm.config
    facts: dict[str, Any] = {
        "card": describe.model(page.view.model, page.lm, page.t),
        "n": len(walked.view.patches),
        "pixels": config.patches.patch**2,
        "d": config.d_model,
        "n_layers": page.trace.n_layers,
        "n_heads": config.n_heads,
        "layer": page.view.layer,
        "head": page.view.head,
        "most": walked.view.names[int(walked.weights[page.view.head].argmax())],
        "weight": percent(float(walked.weights[page.view.head].max())),
        "class": "",
        "share": "",
    }
    if said is not None:
        facts |= {"class": said.names[said.top], "share": percent(float(said.probs[said.top]))}
    return facts


def _look(walked: Walked) -> list[Shot]:
    words, whole = walked.page.words, picture.whole(walked.view)
    shots = [Shot(whole, words("shot_reads"))]
    if walked.said is not None:
        shots.append(Shot([*whole, *picture.bars(walked.said, walked.said.probs, words("bars"))], words("shot_says")))
    return shots


def _pieces(walked: Walked) -> list[Shot]:
    words, view = walked.page.words, walked.view
    return [
        Shot(picture.whole(view), words("shot_reads")),
        Shot(picture.whole(view, picture.GAP), words("shot_cut", n=len(view.patches))),
        Shot(picture.cut(view), words("shot_class")),
    ]


def _vectors(walked: Walked) -> list[Shot]:
    page, view, words = walked.page, walked.view, walked.page.words
    patch = patches.fullest(page.trace) - 1
    seen = filters.filtered(page.trace, patch, filters.strongest(page.trace, patch))
    names = {name: words(f"filter_{name}") for name in ("patch", "filter", "product")}
    made = page.trace["embed.patch"].numpy()
    ringed = picture.whole(view, picture.GAP, ring=patch + 1)
    top = float(np.abs(made).max())
    return [
        Shot(ringed, words("shot_one_patch")),
        Shot([*ringed, *picture.filtering(seen, names)], words("shot_filter", d=len(seen.filters)), 3.2),
        Shot(picture.vectors(view, [("vector", words("strip_vector"), made)], top), words("shot_vectors")),
    ]


def _places(walked: Walked) -> list[Shot]:
    page, view, words = walked.page, walked.view, walked.page.words
    made, out = page.trace["embed.patch"].numpy(), page.trace["embed.out"].numpy()
    top = float(np.abs(made).max())
    first = ("vector", words("strip_vector"), made)
    if "embed.position" not in page.trace:
        return [Shot(picture.vectors(view, [first], top), words("shot_no_places"))]
    places = ("place", words("strip_place"), page.trace["embed.position"].numpy())
    return [
        Shot(picture.vectors(view, [first], top), words("shot_vectors")),
        Shot(picture.vectors(view, [first, places], top), words("shot_places"), 3.2),
        Shot(picture.vectors(view, [("vector", words("strip_sum"), out)], top), words("shot_sum")),
    ]


def _question(walked: Walked) -> list[Shot]:
    view, words, head = walked.view, walked.page.words, walked.page.view.head
    values = walked.weights[head]
    looks = [*picture.cut(view, values), *picture.looks(view, values)]
    return [Shot(picture.cut(view), words("shot_asks")), Shot(looks, words("shot_looks", head=head), 3.2)]


def _heads(walked: Walked) -> list[Shot]:
    view, words, place = walked.view, walked.page.words, walked.page.view
    own = picture.cut(view, walked.weights[place.head])
    every = picture.readers(view, walked.weights, place.head, words("head"))
    return [
        Shot(own, words("shot_looks", head=place.head)),
        Shot([*own, *every], words("shot_heads", layer=place.layer), 3.2),
    ]


def _again(walked: Walked) -> list[Shot]:
    page, words, said = walked.page, walked.page.words, walked.said
    assert said is not None
    shots = []
    for n, probs in enumerate(by_depth(page.trace).probs):
        values = page.trace.row(f"blocks.{n - 1}.attn.pattern", 0).mean(0).numpy() if n else None
        caption = words("shot_before") if n == 0 else words("shot_block", layer=n - 1)
        marks = [*picture.cut(walked.view, values), *picture.bars(said, probs, words("bars_now"))]
        shots.append(Shot(marks, caption, 1.8))
    return shots


def _out(walked: Walked) -> list[Shot]:
    words, said = walked.page.words, walked.said
    assert said is not None
    marks = picture.cut(walked.view)
    return [
        Shot(marks, words("shot_last")),
        Shot([*marks, *picture.bars(said, said.probs, words("bars"))], words("shot_says"), 3.2),
    ]


def _break(walked: Walked) -> list[Shot]:
    page, words, said = walked.page, walked.page.words, walked.said
    assert said is not None
    shots = [Shot([*picture.whole(walked.view), *picture.bars(said, said.probs, words("bars"))], words("shot_as_is"))]
    for name, edit in (("no_places", edits.NoPosition()), ("shuffled", edits.ShuffleTokens(seed=SEED))):
        run = runs.trace(page.run_key._replace(edits=edits.write((edit,))))
        view = walked.view._replace(patches=patches.drawn(run))
        changed = classes(run)
        marks = [*picture.whole(view, picture.GAP), *picture.bars(changed, changed.probs, words("bars"))]
        shots.append(Shot(marks, words(f"shot_{name}"), 3.6))
    return shots


_SHOTS: dict[str, Callable[[Walked], list[Shot]]] = {
    "look": _look,
    "pieces": _pieces,
    "vectors": _vectors,
    "places": _places,
    "question": _question,
    "heads": _heads,
    "again": _again,
    "out": _out,
    "break": _break,
    "end": _look,
}

LAYOUT = Layout(of=itself, sections=(section,))
