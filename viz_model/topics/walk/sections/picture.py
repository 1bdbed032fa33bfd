"""The walk of a picture: its stops, each with its film and its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from viz_model.app import describe, elements, frame, patches, runs, state
from viz_model.app.page import Page
from viz_model.app.topic import Layout, itself
from viz_model.drawing.scene import Film, Frame
from viz_model.drawing.writing import percent
from viz_model.runs import edits
from viz_model.topics.embedding.numbers import filters
from viz_model.topics.next_token.numbers.classes import Classes, by_depth, classes
from viz_model.topics.walk.choices import STOP, STOPS
from viz_model.topics.walk.pictures import picture
from viz_model.topics.walk.pictures.picture import Patched, Shot, scene
from viz_model.topics.walk.sections.films import CONTROLS

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
    passed = stops(page)
    asked = STOPS.index(page.chosen(STOP) or STOPS[0])
    stop = next(name for name in reversed(STOPS[: asked + 1]) if name in passed)
    titles = tuple(page.words(f"stop_{name}") for name in passed)
    at = passed.index(stop)
    said = classes(page.trace) if page.lm.config.classes else None
    view = Patched(patches.drawn(page.trace), patches.grid(page.lm.config), patches.names(page.trace, page.t))
    walked = Walked(page, view, said)
    beside, stage = st.columns([3, 7], gap="medium")
    with beside, st.container(key="walk_text", gap="small"):
        st.header(titles[at], anchor=False)
        is_plain = stop == "look" and said is None
        elements.see(page, "picture_look_vectors" if is_plain else f"picture_{stop}", **_facts(walked))
    with stage, st.container(key="walk_stage", gap="small"):
        frames = [
            Frame(scene=scene(shot, titles[at]), caption=shot.caption, seconds=shot.seconds)
            for shot in _SHOTS[stop](walked)
        ]
        words = {name: page.words(f"control_{name}") for name in CONTROLS}
        film = Film(key=stop, frames=frames, stops=titles, stop=at, words=words)
        elements.film(page, film, "film", on_pick=lambda told: _go(page, passed, told))
        _doors(page, stop, titles[at])


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


def _go(page: Page, passed: tuple[str, ...], told: Any) -> None:
    """Another stop, as the browser asks for it."""
    wanted = told.get("stop") if isinstance(told, dict) else None
    if isinstance(wanted, int) and 0 <= wanted < len(passed):
        state.update(**state.choose(page.name, (STOP, passed[wanted])))


def _doors(page: Page, stop: str, title: str) -> None:
    """The ways to other pages, on the same patch and head."""
    is_end = stop == "end"
    back = page.words("back_to", title=title)
    place = {"layer": page.view.layer, "head": page.view.head, "token": page.token}
    with st.container(horizontal=True, horizontal_alignment="left" if is_end else "distribute", key="walk_doors"):
        if not is_end:
            st.button(page.words("skip"), key="walk.skip", type="tertiary", on_click=frame.go, args=("overview",))
        for name in LAST_DOORS if is_end else (DOORS[stop],):
            label = page.t(f"common.page_{name}")
            st.button(
                label if is_end else page.words("closer", page=label),
                key=f"walk.door.{name}",
                type="secondary" if is_end else "tertiary",
                icon=None if is_end else ":material/zoom_in:",
                on_click=frame.go,
                args=(name, (page.name, back)),
                kwargs=place,
            )


def _look(walked: Walked) -> list[Shot]:
    words, whole = walked.page.words, picture.whole(walked.view)
    shots = [Shot(whole, words("shot_reads"))]
    if walked.said is not None:
        shots.append(Shot([*whole, *picture.bars(walked.said, walked.said.probs, words("bars"))], words("shot_says")))
    return shots


def _pieces(walked: Walked) -> list[Shot]:
    words, view = walked.page.words, walked.view
    apart = picture.whole(view, picture.GAP)
    return [
        Shot(picture.whole(view), words("shot_reads")),
        Shot(apart, words("shot_cut", n=len(view.patches))),
        Shot([*apart, *picture.class_token(view, picture.GAP)], words("shot_class")),
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
    view, words, page = walked.view, walked.page.words, walked.page
    values, gap = walked.weights[page.view.head], picture.GAP
    asks = [*picture.whole(view, gap), *picture.class_token(view, gap)]
    painted = [*picture.whole(view, gap, values), *picture.class_token(view, gap, values)]
    return [
        Shot(asks, words("shot_asks")),
        Shot([*painted, *picture.looks(view, gap, values)], words("shot_looks", head=page.view.head), 3.2),
    ]


def _heads(walked: Walked) -> list[Shot]:
    view, words, page, gap = walked.view, walked.page.words, walked.page, picture.GAP
    weights = walked.weights
    own = [
        *picture.whole(view, gap, weights[page.view.head]), *picture.class_token(view, gap, weights[page.view.head])
    ]  # fmt: skip
    every = picture.readers(view, weights, page.view.head, words("head"))
    return [
        Shot(own, words("shot_looks", head=page.view.head)),
        Shot([*own, *every], words("shot_heads", layer=page.view.layer), 3.2),
    ]


def _again(walked: Walked) -> list[Shot]:
    page, view, words, said = walked.page, walked.view, walked.page.words, walked.said
    assert said is not None
    depth, gap, shots = by_depth(page.trace), picture.GAP, []
    for n, probs in enumerate(depth.probs):
        values = page.trace.row(f"blocks.{n - 1}.attn.pattern", 0).mean(0).numpy() if n else None
        caption = words("shot_before") if n == 0 else words("shot_block", layer=n - 1)
        marks = [*picture.whole(view, gap, values), *picture.class_token(view, gap, values)]
        shots.append(Shot([*marks, *picture.bars(said, probs, words("bars_now"))], caption, 1.8))
    return shots


def _out(walked: Walked) -> list[Shot]:
    view, words, said = walked.view, walked.page.words, walked.said
    assert said is not None
    marks = [*picture.whole(view, picture.GAP), *picture.class_token(view, picture.GAP)]
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
