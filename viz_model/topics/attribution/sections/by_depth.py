"""What the model would say if it stopped after each block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.drawing.sheet import Sheet
from viz_model.topics.attribution import figures
from viz_model.topics.attribution.claims import DECIDED, LENS, PATHS
from viz_model.topics.attribution.numbers import lens, views
from viz_model.topics.attribution.pictures.lens import LensView
from viz_model.topics.attribution.pictures.paths import PathsView, draw_paths
from viz_model.topics.attribution.sections.question import Question, trace_of


@cached()
def looked(run: runs.RunKey, side: Side, covered: int | None, depths: tuple[int, ...], positions: range) -> lens.Lens:
    """The lens over a part of the text."""
    return lens.look(trace_of(run, side, covered), depths, positions)


@cached()
def paths_of(run: runs.RunKey, side: Side, covered: int | None, position: int, ids: tuple[int, ...]) -> PathsView:
    """A few tokens by depth."""
    return views.paths_view(trace_of(run, side, covered), position, ids)


def section(question: Question) -> None:
    if question.target is None:
        return
    _lens(question)
    _paths(question)


def _lens(question: Question) -> None:
    page, trace = question.page, question.trace
    elements.told(question.opened, _lens_title, "lens_title", by=("layer", "token"))
    picture, see = elements.split()
    with picture:
        elements.shown(question.opened, lambda page: _drawn(Question.of(page)), "lens", by=("layer", "token"))
        elements.source(page, "embed.out", f"blocks.{trace.n_layers - 1}.resid.out")
        elements.told(question.opened, _lens_part, "lens_part", by=("layer", "token"))
    with see:
        elements.told(question.opened, _tell_lens, "lens_see", by=("layer", "token"))


def _lens_title(opened: Page) -> Iterator[Said]:
    question = Question.of(opened)
    view = _lens_view(question)
    yield title(question.page.verdict(LENS, view.seen, **question.facts() | view.facts()))


def _lens_part(opened: Page) -> Iterator[Said]:
    """That a long text is drawn in part."""
    question = Question.of(opened)
    view = _lens_view(question)
    if len(view.positions) < len(question.trace):
        yield note(question.page.words("lens_part", **question.facts(), **view.facts()))


def _tell_lens(opened: Page) -> Iterator[str]:
    question = Question.of(opened)
    page, view = question.page, _lens_view(question)
    facts = question.facts() | view.facts()
    yield page.prose("lens", **facts)
    yield page.verdict(DECIDED, view.seen, decided=_depth_name(page, view.depths[view.seen.decided]), **facts)
    if question.has_norms:
        yield page.prose(f"lens_{'post' if page.trace.norm_at == 'post' else 'pre'}", **facts)


def _lens_view(question: Question) -> LensView:
    """The lens around the position that is asked about."""
    return figures.lens_view(question.page.subject, partial(looked, *question.run))


def _drawn(question: Question) -> Drawn:
    return figures.of_lens(question.page.subject, _lens_view(question))


def _paths(question: Question) -> None:
    """The rank of the asked token by depth, beside its rival and the token that stands here itself."""
    picture, see = elements.split()
    with picture:
        alt = question.page.words("paths_alt")
        elements.figure(question.opened, lambda page: _drawn_paths(Question.of(page)), "paths", alt, by=("token",))
    with see:
        elements.told(question.opened, _tell_paths, "paths_see", by=("token",))


def _tell_paths(opened: Page) -> Iterator[str]:
    question = Question.of(opened)
    page, view = question.page, paths_of(*question.run, question.position, _followed(question))
    facts, ranks = question.facts() | view.facts(), tuple(map(int, view.ranks[:, 0]))
    yield page.verdict(PATHS, ranks, settled=_depth_name(page, view.settled or 0), **facts)
    if _own(question) != question.target:
        yield page.prose("paths_own", own=question.label(_own(question)), **facts)


def _own(question: Question) -> int:
    """The token that stands at the position itself."""
    return question.trace.own_ids[question.position]


def _followed(question: Question) -> tuple[int, ...]:
    """The tokens that are followed by depth: the asked one first, the position's own last."""
    assert question.target is not None  # or nothing is said at any depth
    rival = [question.against] if isinstance(question.against, int) else []
    return tuple(dict.fromkeys([question.target, *rival, _own(question)]))


def _drawn_paths(question: Question) -> Sheet:
    page, trace, ids = question.page, question.trace, _followed(question)
    legend = [trace.tokenizer.token(id).label for id in ids]
    if ids[-1] == _own(question) and len(ids) > 1:
        legend[-1] = page.words("own_line", token=legend[-1])
    labels = {name: page.words(f"paths_{name}") for name in ("rank", "depth")}
    names = [_depth_name(page, depth) for depth in range(trace.n_layers + 1)]
    return draw_paths(paths_of(*question.run, question.position, ids), names, legend, labels)


def _depth_name(page: Page, depth: int) -> str:
    return figures.depth_name(page.subject, depth)
