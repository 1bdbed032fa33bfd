"""What attention costs on a picture: the finer it is cut, the more pairs of patches."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.app.topic import Layout, Tabs, itself
from viz_model.drawing.scene import Scene
from viz_model.drawing.writing import percent
from viz_model.measures import patches
from viz_model.topics.cost.numbers.counted import Multiplications
from viz_model.topics.cost.numbers.patches import Cut, cuts
from viz_model.topics.cost.pictures.patches import PARTS, scene
from viz_model.topics.cost.sections.common import table


def _own(page: Page) -> Cut:
    inputs = page.lm.config.patches
    return next(cut for cut in cuts(page.lm.config) if cut.side == inputs.patch)


def _facts(page: Page) -> dict[str, object]:
    own, finest = _own(page), cuts(page.lm.config)[-1]
    return {
        "n": own.n_positions,
        "pairs": f"{own.n_positions**2:,}",
        "side": own.side,
        "share": percent(own.counted.pairs / own.counted.total),
        "finest": finest.side,
        "finest_n": finest.n_positions,
        "finest_pairs": f"{finest.n_positions**2:,}",
        "finest_share": percent(finest.counted.pairs / finest.counted.total),
        "times": f"{finest.counted.total / own.counted.total:,.1f}",
        "times_n": f"{finest.n_positions / own.n_positions:,.1f}",
        "times_pairs": f"{(finest.n_positions / own.n_positions) ** 2:,.0f}",
    }


def section(page: Page) -> None:
    st.subheader(page.words("cut_title", **_facts(page)), anchor=False)
    elements.picture(page, _drawn, "cuts", by=())
    elements.see(page, "see_cuts", **_facts(page))


def _drawn(page: Page) -> Scene:
    words = {part: page.words(f"cut_{part}") for part in PARTS}
    own, title = (page.lm.config.patches.width, _own(page).side), page.words("cut_alt")
    return scene(cuts(page.lm.config), patches.pixels(page.trace), own, "cost.cuts", title, words)


def formula(page: Page) -> None:
    elements.formula(page, page.at("attn.scores"), page.at("attn.z"), page.at("ffn.out"))


def hand(page: Page) -> None:
    own, config = _own(page), page.lm.config
    heads = config.n_heads * config.d_head
    elements.see(
        page, "hand_cuts", n=own.n_positions, heads=heads, layers=config.n_layers,
        product=f"{2 * config.n_layers * own.n_positions**2 * heads:,}", counted=f"{own.counted.pairs:,}",
    )  # fmt: skip


def code(page: Page) -> None:
    elements.code(page, sites=(page.at("attn.scores"), page.at("attn.z")))


def numbers(page: Page) -> None:
    every = cuts(page.lm.config)
    headings = [page.words("cut_part"), *(f"{cut.side} × {cut.side}" for cut in every)]
    rows = {"n": [cut.n_positions for cut in every]}
    rows |= {part: [getattr(cut.counted, part) for cut in every] for part in (*PARTS, "head")}
    rows["total"] = [cut.counted.total for cut in every]
    table(headings, [(page.words(f"cut_{name}"), [f"{n:,}" for n in values]) for name, values in rows.items()])


def question(page: Page) -> None:
    own = _own(page).counted
    options = {part: page.words(f"cut_{part}") for part in PARTS}
    most = max(PARTS, key=lambda part: int(getattr(own, part)))
    said = page.words("guess_part_found", best=options[most], most=percent(_share(own, most)))
    elements.question(page, guess=Guess(page.words("guess_part"), options, lambda: Answer(most, said)))


def _share(counted: Multiplications, part: str) -> float:
    share: float = getattr(counted, part) / counted.total
    return share


LAYOUT = Layout(of=itself, sections=(section,), tabs=Tabs(formula, hand, code, numbers), question=question)
