"""The token's vectors from the block's input up to its output, and one dimension of them to follow."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from viz_model.app import elements
from viz_model.app.drawn import Drawn
from viz_model.app.elements import Said, note, title
from viz_model.app.page import Page
from viz_model.topics.block import figures
from viz_model.topics.block.choices import DIMENSION
from viz_model.topics.block.claims import WRITTEN, Written
from viz_model.topics.block.pictures import strips
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    page = block.page
    elements.told(page, _title, "title")
    if page.view.present:
        _draw(block)
        return
    picture, see = elements.split()
    with picture:
        last = page.lm.config.d_model - 1
        elements.control(page, DIMENSION, st.slider, 0, last, value=block.dimension)
        _draw(block)
        elements.source(page, *block.vectors.sites)
        elements.told(page, _clipped, "clipped")
    with see:
        elements.told(page, _tell, "see")


def _title(page: Page) -> Iterator[Said]:
    yield title(page.words("title", **_facts(OneBlock(page))))


def _clipped(page: Page) -> Iterator[Said]:
    vectors = OneBlock(page).vectors
    if vectors.n_clipped:
        limits = {"limit": f"{vectors.limit:.1f}", "largest": f"{vectors.largest:.1f}"}
        yield note(page.words("clipped", n=vectors.n_clipped, **limits))


def _tell(page: Page) -> Iterator[str]:
    block = OneBlock(page)
    vectors, facts = block.vectors, _facts(block)
    wrote = "added" if vectors.residual else "wrote"
    added, reads = page.words(f"{wrote}{block.crosses}", **facts), page.words(f"reads{block.crosses}", **facts)
    yield page.prose(f"see_{block.of_sums}", added=added, reads=reads, **facts)
    written = {addition.sublayer: vectors.length(addition.written) for addition in vectors.sums}
    *_, second, first = sorted(written.values())
    yield page.verdict(WRITTEN, Written(**written), times=f"{first / (second or 1.0):.1f}")


def _facts(block: OneBlock) -> dict[str, object]:
    return block.facts | strips.summary(block.vectors)


def _draw(block: OneBlock) -> None:
    def made(page: Page) -> Drawn:
        return figures.vectors(page.subject, block.dimension, OneBlock(page).vectors, is_presented=page.view.present)

    elements.shown(block.page, made, "strips")
