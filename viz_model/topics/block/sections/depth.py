"""How long the tokens' vectors are, from the embedding to the last block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.config import Side
from viz_model.topics.block import figures
from viz_model.topics.block.claims import STANDS_OUT, TREND
from viz_model.topics.block.numbers import stream, views
from viz_model.topics.block.pictures.lengths import LengthsView
from viz_model.topics.block.sections.one_block import OneBlock


@cached()
def along_the_stream(key: runs.RunKey, side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Length [S, T] of every vector of the stream by depth, and how alike the tokens are there [S]."""
    run = runs.trace(key).at(side)
    return stream.stream_norms(run), stream.stream_similarity(run)


def _drawn(page: Page) -> Drawn:
    return figures.along_depth(page.subject, along_the_stream(page.run_key, page.trace.stack.side)[0])


def lengths_of(block: OneBlock) -> LengthsView:
    """The lengths by depth."""
    page = block.page
    found, _ = along_the_stream(page.run_key, page.trace.stack.side)
    return views.lengths_view(page.trace, page.view.layer, page.token, found)


def section(block: OneBlock) -> None:
    page = block.page
    elements.told(page, _title, "norms_title")
    elements.shown(page, _drawn, "norms")
    steps = (site for site in block.vectors.sites if ".resid." in site and not site.endswith(".in"))
    elements.source(page, "embed.out", *steps)
    elements.told(page, _tell, "norms_see")


def _title(page: Page) -> Iterator[Said]:
    block = OneBlock(page)
    view = lengths_of(block)
    facts = block.facts | view.facts
    # Where norms set the length, it says which γ the last of them has, and nothing of what came before.
    yield title(page.words("norms_reset", **facts) if view.norm_at == "post" else page.verdict(TREND, view, **facts))


def _tell(page: Page) -> Iterator[Said | str]:
    block = OneBlock(page)
    view, named = lengths_of(block), block.facts
    yield page.prose(f"norms_{block.of_stream}", places=page.words(f"places{block.crosses}"), **named)
    if block.kind == "post":
        yield page.prose(page.kind("reach", block.vectors.kind), **named)
    if len(view.drawn) < len(view.labels):
        yield note(page.words("drawn", drawn=len(view.drawn), n=len(view.labels)))
    if outlier := view.outlier:
        where = {**outlier.facts, "site": page.value_name(outlier.site)}
        yield page.verdict(STANDS_OUT, outlier, outlier=page.token_name(outlier.token), **where)
