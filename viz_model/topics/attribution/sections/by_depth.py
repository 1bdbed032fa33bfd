"""What the model would say if it stopped after each block."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.topics.attribution.claims import DECIDED, LENS, PATHS
from viz_model.topics.attribution.numbers import lens, views
from viz_model.topics.attribution.pictures.lens import MOST_DEPTHS, MOST_ROWS, LensView, draw_lens
from viz_model.topics.attribution.pictures.paths import PathsView, draw_paths
from viz_model.topics.attribution.sections.question import Question, trace_of
from viz_model.topics.overview.numbers import evenly


@cached()
def looked(
    run: runs.RunKey, side: Side, covered: int | None, position: int, depths: tuple[int, ...], positions: range
) -> LensView:
    """The lens around a position."""
    trace = trace_of(run, side, covered)
    return views.lens_view(trace, lens.look(trace, depths, positions), position)


@cached()
def paths_of(run: runs.RunKey, side: Side, covered: int | None, position: int, ids: tuple[int, ...]) -> PathsView:
    """A few tokens by depth."""
    return views.paths_view(trace_of(run, side, covered), position, ids)


def section(question: Question) -> None:
    if question.target is None:
        return
    _lens(question)
    _paths(question, question.target)


def _lens(question: Question) -> None:
    page, trace, words = question.page, question.trace, question.page.words
    depths = evenly(trace.n_layers + 1, page.view.layer + 1, MOST_DEPTHS)
    most = min(MOST_ROWS, lens.affordable(trace, len(depths)))
    positions = views.part_of(len(trace), question.position, most)
    view = looked(*question.run, question.position, depths, positions)
    facts = question.facts() | view.facts()
    st.subheader(LENS.says(page.t.language, view.seen, **facts), anchor=False)
    picture, see = elements.split()
    with picture:
        labels = {name: words(f"lens_axis_{name}") for name in ("position", "depth")}
        names = [_depth_name(page, depth) for depth in view.depths]
        elements.figure(page, draw_lens(view, names, labels), "lens", words("lens_alt"))
        elements.source(page, "embed.out", f"blocks.{trace.n_layers - 1}.resid.out")
        if len(view.positions) < len(trace):
            st.caption(words("lens_part", **facts))
    with see:
        elements.see(page, "lens", **facts)
        decided = _depth_name(page, view.depths[view.seen.decided])
        elements.say(page, DECIDED, view.seen, decided=decided, **facts)
        if question.has_norms:
            elements.see(page, f"lens_{page.trace.norm_at}", **facts)


def _paths(question: Question, target: int) -> None:
    """The rank of the asked token by depth, beside its rival and the token that stands here itself."""
    page, trace, words = question.page, question.trace, question.page.words
    own, rival = trace.own_ids[question.position], question.against
    ids = tuple(dict.fromkeys([target, *([rival] if isinstance(rival, int) else []), own]))
    view = paths_of(*question.run, question.position, ids)
    legend = [trace.tokenizer.token(id).label for id in ids]
    if ids[-1] == own and len(ids) > 1:
        legend[-1] = words("own_line", token=legend[-1])
    picture, see = elements.split()
    with picture:
        labels = {name: words(f"paths_{name}") for name in ("rank", "depth")}
        names = [_depth_name(page, depth) for depth in range(trace.n_layers + 1)]
        elements.figure(page, draw_paths(view, names, legend, labels), "paths", words("paths_alt"))
    with see:
        facts = question.facts() | view.facts()
        ranks = tuple(map(int, view.ranks[:, 0]))
        elements.say(page, PATHS, ranks, settled=_depth_name(page, view.settled or 0), **facts)
        elements.see(page, "paths_own", own=question.label(own), **facts)


def _depth_name(page: Page, depth: int) -> str:
    return page.words("depth_0") if depth == 0 else page.words("depth", layer=depth - 1)
