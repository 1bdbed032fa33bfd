"""Under the tabs: the formulas with the fitted curves, one block by hand, code, and every number."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.app.elements import Answer, Guess
from viz_model.app.page import Page
from viz_model.topics.cost.claims import SHARE
from viz_model.topics.cost.numbers import by_hand
from viz_model.topics.cost.numbers.counted import Multiplications, count, crossings
from viz_model.topics.cost.numbers.measured import PARTS
from viz_model.topics.cost.pictures.shares import SharesView
from viz_model.topics.cost.pictures.times import TimesView
from viz_model.topics.cost.sections.common import n_source, names
from viz_model.topics.cost.sections.measured import readings


def formula(page: Page) -> None:
    config, side, layer = page.lm.config, page.trace.stack.side, page.view.layer
    said = by_hand.sizes(config, side, layer)
    elements.see(page, "formula", **said)
    elements.see(page, "formula_passes" if by_hand.is_textbook(config, side) else "formula_passes_own", **said)
    elements.see(page, "formula_written", **said)
    _fits(page)


def _fits(page: Page) -> None:
    """The fitted formulas, under Formula."""
    if not (found := readings(page)):
        elements.see(page, "fit_none")
        return
    view = TimesView.of(found, page.lm.config)
    elements.see(page, "fit", least=view.runs[0], most=view.runs[1])
    for part in PARTS:
        left, right = st.columns([2, 5], vertical_alignment="center")
        left.markdown(f"**{page.words(part)}**  \n$p = {view.facts()[f'{part}_p']}$")
        right.latex(rf"t(T) \approx {view.formula(part)}")


def hand(page: Page) -> None:
    config, side = page.lm.config, page.trace.stack.side
    elements.see(page, "hand", **by_hand.by_hand(config, side, page.view.layer, len(page.trace)))


def code(page: Page) -> None:
    elements.code(page, layer=page.view.layer)


def question(page: Page) -> None:
    side, length = page.trace.stack.side, len(page.trace)
    view = SharesView.of(page.lm.config, side, length, n_source(page))
    facts = {"share": view.facts()["share0"], "passes": f"{crossings(page.lm.config, side).ffn:,.0f}"}
    here = SHARE.says(page.t.language, view.share("pairs", 0), **facts)
    elements.question(page, guess=_guess(page), here=here, passes=facts["passes"])


def _guess(page: Page) -> Guess:
    """How many times the multiplications of a text twice as long."""
    config, side, length, source = page.lm.config, page.trace.stack.side, len(page.trace), n_source(page)
    once, twice = (count(config, side, n, n_source=source) for n in (length, 2 * length))
    names = {"n": f"{length:,}", "twice": f"{2 * length:,}"}
    ratios = {"all": f"{twice.total / once.total:.2f}", "pairs": f"{twice.pairs / once.pairs:.2f}"}
    right = str(min((2, 3, 4), key=lambda times: abs(times - twice.total / once.total)))
    said = page.words("guess_found", **names, **ratios)
    options = {str(times): page.words("guess_times", n=times) for times in (2, 3, 4)}
    return Guess(page.words("guess", **names), options, lambda: Answer(right, said))


def numbers(page: Page) -> None:
    config, side, length = page.lm.config, page.trace.stack.side, len(page.trace)
    words = names(page, *Multiplications._fields, "length", *PARTS)
    elements.records(page, "multiplications", by_hand.count_columns(config, side, length, n_source(page), words))
    if found := readings(page):
        st.caption(page.words("readings"))
        elements.records(page, "readings", TimesView.of(found, config).columns(words))
