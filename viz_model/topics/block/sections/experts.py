"""Who is chosen among the experts of a layer: for the tokens of this text, and over texts of two languages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import streamlit as st

import viz_model as vm
from viz_model.app import elements, runs
from viz_model.app.cache import cached
from viz_model.app.page import Page
from viz_model.config import Experts, Side
from viz_model.drawing import strips
from viz_model.topics.block.choices import EXPERTS_GET
from viz_model.topics.block.numbers import experts, memory
from viz_model.topics.block.pictures.experts import RoutingView, draw_routing
from viz_model.topics.block.sections.one_block import OneBlock


def section(block: OneBlock) -> None:
    """Nothing in a layer that has one network for all tokens."""
    page = block.page
    ffn, view = experts.of_layer(page.trace, page.view.layer), _routing(page)
    if ffn is None or view is None:
        return
    facts = _facts(block, ffn, view)
    st.subheader(page.words("experts", **facts), anchor=False)
    elements.heat_rows(page, _drawn, "experts", page.words("experts_alt"))
    elements.source(page, page.at("ffn.chosen"))
    elements.see(page, f"experts_{ffn.softmax}", **facts)
    elements.formula(page, page.at("ffn.chosen"))
    elements.formula(page, page.at("ffn.out"))
    elements.see(page, "experts_held", **facts)
    if page.trace.stack.side == page.lm.config.sides[0]:
        elements.fold(page, EXPERTS_GET, partial(_over_stories, page))


def _routing(page: Page) -> RoutingView | None:
    return experts.routing(page.trace, page.view.layer, page.token)


def _drawn(page: Page) -> strips.StripsView | None:
    view = _routing(page)
    return None if view is None else draw_routing(view, page.t("common.axis_token"), page.words("experts_row"))


def _facts(block: OneBlock, ffn: Experts, view: RoutingView) -> dict[str, object]:
    page = block.page
    size = experts.parameters(page.lm.config, page.trace.stack.side, page.view.layer)
    most, least = int(view.counts.argmax()), int(view.counts.argmin())
    return block.facts | {
        "chosen": page.words("experts_and").join(map(str, view.chosen)),
        "k": ffn.top_k,
        "n": ffn.n_experts,
        "held": f"{size.held:,}",
        "used": f"{size.used:,}",
        "share": f"{size.used / size.held:.0%}",
        "n_tokens": len(view.labels),
        "most": most,
        "most_count": int(view.counts[most]),
        "least": least,
        "least_count": int(view.counts[least]),
    }


@cached(beside=True)
def _of_stories(model: str, side: Side, layer: int) -> experts.Load:
    """Who is chosen over the package's stories, English and Chinese by turns."""
    lm = runs.model(model)
    stories = memory.sample(sum(parameter.numel() for parameter in lm.model.parameters()))

    def read() -> Iterator[tuple[str, vm.Trace]]:
        for n, story in enumerate(stories):
            with contextlib.suppress(ValueError):  # a vocabulary may lack some of its letters
                yield ("en", "zh")[n % 2], runs.run(runs.RunKey(model, story)).at(side)

    return experts.load(read(), layer)


def _over_stories(page: Page) -> None:
    """A row an expert: its share of the tokens of each language, and the tokens it meets most often."""
    found = _of_stories(page.view.model, page.trace.stack.side, page.view.layer)
    columns: dict[str, list[object]] = {page.words("experts_row"): list(range(found.shares.shape[1]))}
    for language, shares in zip(found.languages, found.shares, strict=True):
        columns[page.words(f"experts_share_{language}")] = [f"{share:.1%}" for share in shares]
    columns[page.words("experts_words")] = ["  ".join(words) for words in found.words]
    elements.records(page, "experts", columns)
    elements.see(page, "experts_get", n_tokens=f"{sum(found.n_tokens):,}", layer=page.view.layer)
